import { readFileSync } from 'node:fs';
import { Server } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { type Repeated, repeat } from './repeat.ts';

/** A certificate with its chain and the key to it, as PEM. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** What a listener presents out of two files, and how it keeps up with them. */
export interface TlsFiles {
  readonly pair: Pair;
  /** Gives a listening server each pair that replaces the one before, beside its other `settings`. */
  follow(server: object, settings: SecureContextOptions): Repeated;
}

const lookMs = 60_000;

/** Opens a certificate and its key. Throws what the file system or OpenSSL says of them. */
export function openTlsFiles(certFile: string, keyFile: string): TlsFiles {
  const read = (): Pair => ({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') });
  const pair = read();
  createSecureContext(pair);
  return {
    pair,
    // Files that were replaced are served once they are a pair: of a renewal in the middle one is still the old one.
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
