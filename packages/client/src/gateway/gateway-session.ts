import { type KeySet, keySetDigest } from '@sotto/attestation';
import { abortable } from '../abortable.ts';
import { ClientError } from '../errors.ts';
import { type AcceptanceTerms, requireAccepted } from './acceptance.ts';
import { AttestedChannel } from './attested-channel.ts';
import type { ContentAnswer, ContentChannel, ContentRequest, OriginConnection, Platform } from './platform.ts';
import {
  type ConnectionVerification,
  type OriginVerification,
  type VerifyGateway,
  verifyConnection,
} from './verify-origin.ts';

export interface GatewaySessionOptions extends AcceptanceTerms {
  readonly platform: Platform;
  readonly verifyGateway: VerifyGateway;
  readonly origin: string;
  readonly now: () => number;
  /** Time in ms that a verification is valid, at most. The key set or the pin may end earlier. */
  readonly maxAgeMs: number;
  /**
   * Called with every accepted verification. Further connections are attested while it is valid, without another call.
   */
  readonly onVerified: (verification: OriginVerification) => void;
}

interface Verified {
  readonly verification: OriginVerification;
  readonly keySetDigest: string;
  readonly channel: ContentChannel;
  /** Unix milliseconds. */
  readonly until: number;
}

/**
 * The verified way to one confidential origin. It verifies before the first content, and again when the verification is
 * too old, or its key set or pin has ended. It also verifies again when a connection is to another key or another key set.
 *
 * Where the evidence covers its connection, content leaves over connections that were attested each by itself. Otherwise
 * it leaves over connections that prove a key of the verified set.
 */
export class GatewaySession {
  readonly #options: GatewaySessionOptions;
  #current: Verified | undefined;
  #pending: Promise<Verified> | undefined;
  readonly #closing = new AbortController();

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
      this.#closing.signal.throwIfAborted();
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

  /** Closes the connections for good. Content that was not sent yet never is: its request rejects with `AbortError`. */
  close(): void {
    this.#closing.abort(new DOMException('The client was closed.', 'AbortError'));
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
    return this.#begin(await this.#verifyConnection());
  }

  /**
   * Lets an accepted verification count from now on. One of the same key set that counts already stays, and takes the
   * connection: several requests at one time may be the first to meet a new key set.
   */
  #begin({ verification, connection }: ConnectionVerification): Verified {
    const { maxAgeMs, onVerified, now } = this.#options;
    const { keySet, pin, binding, verifiedAt } = verification;
    if (keySet === undefined) throw new ClientError('attestation_untrusted');
    const digest = keySetDigest(keySet);
    const current = this.#current;
    if (current !== undefined) {
      const isSame = current.keySetDigest === digest && now() < current.until;
      if (isSame && binding === 'channel' && connection !== undefined && current.channel instanceof AttestedChannel) {
        current.channel.add(connection);
        return current;
      }
      this.#drop(current);
    }
    const pinEnds = pin?.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(pin.expiresAt);
    const until = Math.min(keySet.not_after * 1000, pinEnds, verifiedAt + maxAgeMs);
    const channel =
      binding === 'channel' && connection !== undefined
        ? new AttestedChannel(connection, () => this.#attestAnother(digest))
        : this.#unboundChannel(keySet, connection);
    const verified = { verification, keySetDigest: digest, channel, until };
    this.#current = verified;
    onVerified(verification);
    return verified;
  }

  /** Opens a connection and verifies the evidence about it. Closes it if content must not be sent. */
  async #verifyConnection(): Promise<ConnectionVerification> {
    const { pins } = this.#options;
    const { signal } = this.#closing;
    const verified = await verifyConnection({ ...this.#options, pins: pins.gateway, signal });
    try {
      signal.throwIfAborted();
      requireAccepted(verified.verification, this.#options);
      return verified;
    } catch (error) {
      verified.connection?.close();
      throw error;
    }
  }

  /** Content leaves over connections that prove a key of the set. */
  #unboundChannel(keySet: KeySet, connection: OriginConnection | undefined): ContentChannel {
    const { platform, origin } = this.#options;
    connection?.close();
    const keys = keySet.tls_public_keys.filter((key) => key.origin === origin).map((key) => key.spki_sha256);
    return platform.openChannel(origin, origin.startsWith('https:') ? new Set(keys) : undefined);
  }

  /**
   * Opens a connection that counts under the verification with this key set. If it is to another key set, its verification
   * counts from now on, and requests must begin anew.
   */
  async #attestAnother(digest: string): Promise<OriginConnection> {
    const verified = await this.#verifyConnection();
    const { verification, connection } = verified;
    const { keySet, binding } = verification;
    if (connection !== undefined && binding === 'channel' && keySet !== undefined && keySetDigest(keySet) === digest) {
      return connection;
    }
    this.#begin(verified);
    throw new ClientError('connection_not_verified');
  }

  #drop(verified: Verified): void {
    if (this.#current !== verified) return;
    this.#current = undefined;
    verified.channel.close();
  }
}
