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
  /** Time in ms that a verification is valid, at most. The key set may end earlier. */
  readonly maxAgeMs: number;
  /**
   * Called with every accepted verification. Further connections are attested while it is valid, without another call.
   */
  readonly onVerified: (verification: OriginVerification) => void;
}

interface Verified {
  readonly verification: OriginVerification;
  readonly channel: ContentChannel;
  readonly until: number;
}

/**
 * The verified way to one confidential origin. It verifies before the first content, and again when the verification is
 * too old or its key set has ended. It also verifies again when a connection is to another key or another key set.
 *
 * Where the evidence covers its connection, content leaves over connections that were attested each by itself. Otherwise
 * it leaves over connections that prove a key of the verified set.
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
    return this.#begin(await this.#verifyConnection());
  }

  /** Lets an accepted verification count from now on. */
  #begin({ verification, connection }: ConnectionVerification): Verified {
    const { maxAgeMs, onVerified } = this.#options;
    const { keySet, verifiedAt } = verification;
    if (keySet === undefined) throw new ClientError('attestation_untrusted');
    const until = Math.min(keySet.not_after * 1000, verifiedAt + maxAgeMs);
    const verified = { verification, channel: this.#channelFor(keySet, verification, connection), until };
    this.#current = verified;
    onVerified(verification);
    return verified;
  }

  /** Opens a connection and verifies the evidence about it. Closes it if content must not be sent. */
  async #verifyConnection(): Promise<ConnectionVerification> {
    const { pins } = this.#options;
    const verified = await verifyConnection({ ...this.#options, pins: pins.gateway });
    try {
      requireAccepted(verified.verification, this.#options);
      return verified;
    } catch (error) {
      verified.connection?.close();
      throw error;
    }
  }

  #channelFor(
    keySet: KeySet,
    { binding }: OriginVerification,
    connection: OriginConnection | undefined,
  ): ContentChannel {
    const { platform, origin } = this.#options;
    if (binding === 'channel' && connection !== undefined) {
      const digest = keySetDigest(keySet);
      return new AttestedChannel(connection, () => this.#attestAnother(digest));
    }
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
    if (this.#current !== undefined) this.#drop(this.#current);
    this.#begin(verified);
    throw new ClientError('connection_not_verified');
  }

  #drop(verified: Verified): void {
    if (this.#current !== verified) return;
    this.#current = undefined;
    verified.channel.close();
  }
}
