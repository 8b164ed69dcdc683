import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';

/** The parts of a verification of the broker that the page shows. */
export type ShownGateway = Pick<
  OriginVerification,
  'origin' | 'verdict' | 'isCurrent' | 'notCurrent' | 'checks' | 'teeType' | 'verifiedAt' | 'tlsKeySeen' | 'binding'
>;

/** The parts of a verification of a provider's enclave that the page shows. */
export type ShownEnclave = Pick<
  EnclaveVerification,
  'model' | 'provider' | 'verdict' | 'checks' | 'verifiedAt' | 'relayAttacks'
>;

/** The state of the command, for the page. */
export interface PlaygroundStanding {
  /** Without `/v1`. */
  readonly controlOrigin: string;
  /** Whether every request is encrypted for the provider's enclave, or refused. */
  readonly e2eeOnly: boolean;
  /** Whether control says that one process runs it and the broker. */
  readonly isOneProcess: boolean;
  /** The newest accepted verification. */
  readonly gateway: ShownGateway;
  /** The newest accepted verification of each provider and model. */
  readonly enclaves: readonly ShownEnclave[];
}

/** The path of that answer. */
export const standingPath = '/v1/playground/standing';

/** Keeps the newest accepted verifications. */
export class VerificationLog {
  #gateway: ShownGateway | undefined;
  readonly #enclaves = new Map<string, ShownEnclave>();

  readonly onVerified = ({
    origin,
    verdict,
    isCurrent,
    notCurrent,
    checks,
    teeType,
    verifiedAt,
    tlsKeySeen,
    binding,
  }: OriginVerification): void => {
    this.#gateway = { origin, verdict, isCurrent, notCurrent, checks, teeType, verifiedAt, tlsKeySeen, binding };
  };

  readonly onEnclaveVerified = (verification: EnclaveVerification): void => {
    const { model, provider, verdict, checks, verifiedAt, relayAttacks } = verification;
    const shown = { model, provider, verdict, checks, verifiedAt, relayAttacks };
    this.#enclaves.set(JSON.stringify([model, provider]), shown);
  };

  get newest(): Pick<PlaygroundStanding, 'gateway' | 'enclaves'> {
    if (this.#gateway === undefined) throw new Error('the broker was not verified yet');
    return { gateway: this.#gateway, enclaves: [...this.#enclaves.values()] };
  }
}
