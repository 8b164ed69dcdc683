import { ClientError } from '../errors.ts';
import { type AcceptanceTerms, requireAccepted } from './acceptance.ts';
import type { ContentAnswer, ContentChannel, ContentRequest, Platform } from './platform.ts';
import { type OriginVerification, type VerifyGateway, verifyOrigin } from './verify-origin.ts';

export interface GatewaySessionOptions extends AcceptanceTerms {
  readonly platform: Platform;
  readonly verifyGateway: VerifyGateway;
  readonly origin: string;
  readonly now: () => number;
  /** Time in ms that a verification is valid, at most. The key set may end earlier. */
  readonly maxAgeMs: number;
  /** Called with every accepted verification. */
  readonly onVerified: (verification: OriginVerification) => void;
}

interface Verified {
  readonly verification: OriginVerification;
  readonly channel: ContentChannel;
  readonly until: number;
}

/**
 * The verified way to one confidential origin. It verifies before the first content, and again when the verification is
 * too old or its key set has ended. It also verifies again when a connection proves a key that the verified set does
 * not name.
 */
export class GatewaySession {
  readonly #options: GatewaySessionOptions;
  #current: Verified | undefined;
  #pending: Promise<Verified> | undefined;

  constructor(options: GatewaySessionOptions) {
    this.#options = options;
  }

  /** Returns the valid verification, or verifies first. Throws the errors of `requireAccepted`. */
  async verified(signal?: AbortSignal): Promise<OriginVerification> {
    return (await abortable(this.#ensure(), signal)).verification;
  }

  /** Sends content over a verified connection. Throws a `ClientError` only if none of the content can have left. */
  async send(request: ContentRequest): Promise<ContentAnswer> {
    const verified = await abortable(this.#ensure(), request.signal);
    try {
      return await verified.channel.send(request);
    } catch (mismatch) {
      if (!(mismatch instanceof ClientError && mismatch.code === 'connection_not_verified')) throw mismatch;
      // The service may have changed its key, or this verification is old. Verify once more; if that fails, report the
      // mismatch.
      this.#drop(verified);
      const again = await abortable(
        this.#ensure().catch(() => {
          throw mismatch;
        }),
        request.signal,
      );
      return again.channel.send(request);
    }
  }

  close(): void {
    if (this.#current !== undefined) this.#drop(this.#current);
  }

  #ensure(): Promise<Verified> {
    const current = this.#current;
    if (current !== undefined) {
      if (this.#options.now() < current.until) return Promise.resolve(current);
      this.#drop(current);
    }
    this.#pending ??= this.#verify().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #verify(): Promise<Verified> {
    const { platform, verifyGateway, origin, pins, now, maxAgeMs, onVerified } = this.#options;
    const verification = await verifyOrigin({ platform, verifyGateway, origin, pins: pins.gateway, now });
    requireAccepted(verification, this.#options);
    const { keySet } = verification;
    if (keySet === undefined) throw new ClientError('attestation_untrusted');
    const keys = keySet.tls_public_keys.filter((key) => key.origin === origin).map((key) => key.spki_sha256);
    const isTls = origin.startsWith('https:');
    const channel = platform.openChannel(origin, isTls ? new Set(keys) : undefined);
    const until = Math.min(keySet.not_after * 1000, verification.verifiedAt + maxAgeMs);
    this.#current = { verification, channel, until };
    onVerified(verification);
    return this.#current;
  }

  #drop(verified: Verified): void {
    if (this.#current !== verified) return;
    this.#current = undefined;
    verified.channel.close();
  }
}

/** Waits for a shared promise until the signal aborts, then throws the signal's reason. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  let leave = (): void => undefined;
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
  });
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([promise, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
