import { createHash } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { buildConnector, type Dispatcher, Pool } from 'undici';

export interface AttestedTls {
  /** Whether a TLS key was attested: the SHA-256 of its SubjectPublicKeyInfo, lower-case hex. */
  readonly isAttested: (spkiSha256: string) => boolean;
  /** As of `UpstreamAddress`. */
  readonly ca?: string | undefined;
}

/** Code of the error of a connection whose TLS key was not attested. */
export const unattestedKey = 'ERR_TLS_KEY_NOT_ATTESTED';

/**
 * A pool for `openUpstream` whose every connection has shown an attested TLS key before a byte of a request is written to
 * it; without TLS there is none. Sessions are not resumed: each connection proves the key anew.
 */
export function attestedPool({ isAttested, ca }: AttestedTls): (origin: string, connectTimeoutMs: number) => Pool {
  return (origin, connectTimeoutMs) => {
    const connect = buildConnector({ timeout: connectTimeoutMs, maxCachedSessions: 0, allowH2: false, ca });
    return new Pool(origin, {
      connections: null,
      pipelining: 1,
      keepAliveTimeout: 10_000,
      maxHeaderSize: 32 * 1024,
      allowH2: false,
      connect(options, callback) {
        connect(options, (error, socket) => {
          if (error !== null) {
            callback(error, null);
            return;
          }
          const key = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.publicKey : undefined;
          const spki = key?.export({ type: 'spki', format: 'der' });
          if (spki !== undefined && isAttested(createHash('sha256').update(spki).digest('hex'))) {
            callback(null, socket);
            return;
          }
          socket.destroy();
          callback(Object.assign(new Error('the TLS key was not attested'), { code: unattestedKey }), null);
        });
      },
    });
  };
}

export type MakePool = (origin: string, connectTimeoutMs: number) => Dispatcher;
