import { isRefusedByDefault } from '@sotto/wire';
import { type AttestedKey, vouchForKey } from '../e2ee/enclave-key.ts';
import { ClientError } from '../errors.ts';
import { type AcceptableVerdict, acceptableVerdicts, isAcceptable } from '../gateway/acceptance.ts';
import { type AcceptsRelayAttacks, relayCanRead } from './enclave-route.ts';
import type { EnclaveQuestion, EnclaveVerification } from './verify-enclave.ts';

/** The verdicts on a provider's enclave that end-to-end encryption accepts as a minimum. */
export type AcceptableEnclaveVerdict = Exclude<AcceptableVerdict, 'hardware_verified'>;
export const acceptableEnclaveVerdicts = acceptableVerdicts.filter(
  (verdict): verdict is AcceptableEnclaveVerdict => verdict !== 'hardware_verified',
);

/** The model and the provider of a route. */
type Route = Pick<EnclaveQuestion, 'model' | 'provider'>;

export interface EnclaveSessionsOptions {
  readonly verify: (route: Route, signal?: AbortSignal) => Promise<EnclaveVerification | Response>;
  readonly minimumVerdict: AcceptableEnclaveVerdict;
  readonly acceptsRelayAttacks: AcceptsRelayAttacks;
  readonly now: () => number;
  /** Called with every accepted verification. */
  readonly onVerified: (verification: EnclaveVerification) => void;
}

interface Kept {
  readonly key: AttestedKey;
  readonly until: number;
}

const maxKept = 64;

/** Keys of verified enclaves, kept until their evidence expires. Keys for a single request are not kept. */
export class EnclaveSessions {
  readonly #options: EnclaveSessionsOptions;
  readonly #kept = new Map<string, Kept>();

  constructor(options: EnclaveSessionsOptions) {
    this.#options = options;
  }

  /**
   * Returns a key to encrypt to, or the refusal of the service. Throws `attestation_untrusted` if the verdict is too
   * weak, and `e2ee_relay_can_read` if a malicious broker could read what is encrypted to the key.
   */
  async keyFor(route: Route, signal?: AbortSignal): Promise<AttestedKey | Response> {
    const name = nameOf(route);
    const kept = this.#kept.get(name);
    if (kept !== undefined && this.#options.now() < kept.until) return kept.key;
    this.#kept.delete(name);
    const verification = await this.#options.verify(route, signal);
    if (verification instanceof Response) return verification;
    const key = this.#accept(verification);
    this.#options.onVerified(verification);
    if (key.family !== 'chutes') this.#kept.set(name, { key, until: verification.expiresAtMs });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxKept) break;
      this.#kept.delete(oldest);
    }
    return key;
  }

  /** Forgets an enclave that failed, so that the next request verifies it again. */
  drop(route: Route): void {
    this.#kept.delete(nameOf(route));
  }

  #accept(verification: EnclaveVerification): AttestedKey {
    const { verdict, checks, key, provider } = verification;
    const { minimumVerdict, acceptsRelayAttacks } = this.#options;
    if (isAcceptable(verification, minimumVerdict) && key !== undefined) {
      if (!isRefusedByDefault(key.family) || acceptsRelayAttacks(verification)) return vouchForKey(key);
      throw relayCanRead(provider, key.family);
    }
    const open = checks.filter(({ outcome }) => outcome !== 'passed').map(({ name }) => name);
    throw new ClientError('attestation_untrusted', undefined, {
      detail: `The verdict on the enclave of ${provider} is ${verdict}; ${minimumVerdict}, up to date, is required. Not passed: ${open.join(', ')}.${missingPin(verification)}`,
    });
  }
}

const nameOf = ({ model, provider }: Route): string => JSON.stringify([model, provider]);

/** Tells the user which pin to add. The reason of an unpinned route quotes only values that the user gave. */
function missingPin({ checks }: EnclaveVerification): string {
  const route = checks.find(({ name }) => name === 'provider.route');
  return route?.outcome === 'not_made' ? ` To trust it, change the pins: ${route.reason}.` : '';
}
