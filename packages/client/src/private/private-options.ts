import type { EnclaveExchange } from '../enclave/enclave-exchange.ts';
import { type AcceptableEnclaveVerdict, acceptableEnclaveVerdicts } from '../enclave/enclave-sessions.ts';
import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import { type AcceptableVerdict, type AcceptanceTerms, acceptableVerdicts } from '../gateway/acceptance.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import {
  callback,
  count,
  duration,
  flag,
  type OptionKind,
  oneOf,
  optional,
  ownPins,
  requireOptions,
  text,
} from '../options.ts';
import type { ClientPins } from '../pins/client-pins.ts';

/** The build of the browser bundle defines this as false, which removes the code that depends on it. */
declare const SOTTO_SIMULATION: boolean | undefined;

export interface PrivateFetchOptions {
  /** An inference key. It is sent to the control origin and nowhere else. */
  readonly apiKey: string;
  /** With or without `/v1`. */
  readonly controlOrigin: string;
  /** The confidential origin, with or without `/v1`. Content goes there. */
  readonly baseOrigin: string;
  /** The accepted machines. Default: the pins that this build ships with. */
  readonly pins?: ClientPins;
  /**
   * The weakest verdict on which content is sent. Default: `hardware_verified`; in browsers
   * `cryptographically_checked`.
   */
  readonly minimumVerdict?: AcceptableVerdict;
  /**
   * Whether to encrypt every request for the provider's enclave, and to refuse those that cannot be encrypted. By
   * default only requests that ask for it are encrypted.
   */
  readonly e2eeOnly?: boolean;
  /** Number of tickets kept ready for each kind of request. Default: 2; 0 keeps none. */
  readonly ticketsAhead?: number;
  /** Time in ms that a verification is valid, at most. Default: ten minutes. */
  readonly maxAgeMs?: number;
  /** Called with each accepted verification. It counts for further connections, each of which is attested by itself. */
  readonly onVerified?: (verification: OriginVerification) => void;
  /** The weakest verdict on a provider's enclave to which content is encrypted. Default: `policy_matched`. */
  readonly minimumEnclaveVerdict?: AcceptableEnclaveVerdict;
  /**
   * Accepts providers whose protocol lets a malicious broker read end-to-end-encrypted prompts and replies. Default: false. Pins can accept them for one provider: `accept_relay_attacks`.
   */
  readonly acceptRelayAttacks?: boolean;
  /** Called with each accepted verification of a provider's enclave. */
  readonly onEnclaveVerified?: (verification: EnclaveVerification) => void;
  /** Called when an encrypted reply has arrived, with the hashes of both ciphertexts. `checkReceipts` takes it. */
  readonly onEnclaveExchange?: (exchange: EnclaveExchange) => void;
  /** For tests: Unix milliseconds. */
  readonly now?: () => number;
}

/** Options that the browser bundle does not have. */
export type DevelopmentOptions = Pick<AcceptanceTerms, 'allowSimulated'>;

const kinds = {
  apiKey: text,
  controlOrigin: text,
  baseOrigin: text,
  pins: optional(ownPins),
  minimumVerdict: optional(oneOf(acceptableVerdicts)),
  e2eeOnly: optional(flag),
  ticketsAhead: optional(count),
  maxAgeMs: optional(duration),
  onVerified: optional(callback),
  minimumEnclaveVerdict: optional(oneOf(acceptableEnclaveVerdicts)),
  acceptRelayAttacks: optional(flag),
  onEnclaveVerified: optional(callback),
  onEnclaveExchange: optional(callback),
  now: optional(callback),
} satisfies Record<keyof PrivateFetchOptions, OptionKind>;

/** Throws `option_invalid` for options that are unknown, missing or of another type. */
export function requirePrivateOptions(options: PrivateFetchOptions & DevelopmentOptions): void {
  const simulation =
    typeof SOTTO_SIMULATION === 'undefined' || SOTTO_SIMULATION ? { allowSimulated: optional(flag) } : {};
  requireOptions(options, { ...kinds, ...simulation });
}
