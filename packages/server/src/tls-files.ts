import { readFileSync } from 'node:fs';
import { Server } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { type Repeated, repeat } from './repeat.ts';

/** A certificate with its chain, and its key, as PEM. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** The certificate and key that a listener reads from two files. */
export interface TlsFiles {
  readonly pair: Pair;
  /** Watches the files and passes each new pair to a listening server, with its other `settings`. */
  follow(server: object, settings: SecureContextOptions): Repeated;
}

const lookMs = 60_000;

/** Opens a certificate and its key. Throws the errors of the file system and of OpenSSL. */
export function openTlsFiles(certFile: string, keyFile: string): TlsFiles {
  const read = (): Pair => ({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') });
  const pair = read();
  createSecureContext(pair);
  return {
    pair,
    // During a renewal, one file is new and the other is old. The new files are used once they match.
    follow(server, settings) {
      let served = pair;
      return repeat(lookMs, async () => {
        const found = read();
        if ((found.cert === served.cert && found.key === served.key) || !(server instanceof Server)) return;
        createSecureContext(found);
        server.setSecureContext({ ...settings, ...found });
        served = found;
      });
    },
  };
}
