import { chutesEnclave } from './chutes-enclave.ts';
import type { StandInEnclave, StandInOptions } from './enclave.ts';
import { fieldEnclave, fieldProtocols } from './field-enclave.ts';
import { tinfoilEnclave } from './tinfoil-enclave.ts';

export {
  type EnclaveAnswer,
  type EnclaveRequest,
  type HeardMessage,
  type Spoken,
  type StandInEnclave,
  type StandInOptions,
  standInModel,
} from './enclave.ts';

export type StandInKind = keyof typeof fieldProtocols | 'tinfoil' | 'chutes';

/** One stand-in for every scheme that the client speaks. */
export const standInKinds: readonly StandInKind[] = [
  ...(Object.keys(fieldProtocols) as (keyof typeof fieldProtocols)[]),
  'tinfoil',
  'chutes',
];

/** A stand-in for a provider's enclave, with its own keys. */
export function standInEnclave(kind: StandInKind, options?: StandInOptions): StandInEnclave {
  if (kind === 'tinfoil') return tinfoilEnclave(options);
  if (kind === 'chutes') return chutesEnclave(options);
  return fieldEnclave(fieldProtocols[kind](), options);
}
