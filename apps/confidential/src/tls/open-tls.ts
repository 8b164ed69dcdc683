import { readFile, rename, writeFile } from 'node:fs/promises';
import { Server } from 'node:https';
import { openTlsFiles, type Repeated, repeat } from '@sotto/http';
import type { TlsConfig } from '../config.ts';
import { type CertificateExchange, TlsKeeper } from './tls-keeper.ts';
import { makeTlsKey } from './tls-key.ts';
import { tlsOptions } from './tls-options.ts';

/** The keys that a connection may meet until `until` (Unix ms): SHA-256 of each one's SPKI, lower-case hex. */
export interface NamedTlsKeys {
  readonly spkiSha256: readonly string[];
  readonly until: number;
}

/** What the broker's listener presents, and how it is kept up to date. */
export interface ServedTls {
  readonly options: typeof tlsOptions & { readonly key: string; readonly cert: string };
  /** Gives a listening server each new key or certificate; undefined where there is none to come. */
  readonly follow: ((server: object) => Repeated) | undefined;
  /** What attestation names, as of now; undefined where the key came from outside: who has it could end TLS elsewhere. */
  readonly named: (() => NamedTlsKeys) | undefined;
}

const resendMs = 60_000;

/** Opens what CONFIDENTIAL_TLS asks for; undefined without TLS. Throws what the file system says of its files. */
export async function openTls(config: TlsConfig, origin: string, now: () => number): Promise<ServedTls | undefined> {
  switch (config.kind) {
    case 'off':
      return undefined;
    case 'files': {
      const files = openTlsFiles(config.certFile, config.keyFile);
      return {
        options: { ...tlsOptions, ...files.pair },
        named: undefined,
        follow: (server) => files.follow(server, tlsOptions),
      };
    }
    case 'self': {
      const { hostname } = new URL(origin);
      const authority = config.authority && exchangeOf(config.authority);
      const keeper = await TlsKeeper.start({ now, makeKey: (validity) => makeTlsKey(hostname, validity), authority });
      await keeper.refresh();
      return {
        options: { ...tlsOptions, ...keeper.served },
        named: () => keeper.named,
        follow: (server) =>
          repeat(resendMs, async () => {
            if ((await keeper.refresh()) && server instanceof Server) {
              server.setSecureContext({ ...tlsOptions, ...keeper.served });
            }
          }),
      };
    }
  }
}

/** An exchange by files. A request is written whole or not at all: whoever watches the file may read it at any time. */
const exchangeOf = (files: { readonly requestFile: string; readonly certFile: string }): CertificateExchange => ({
  async writeRequest(requestPem) {
    const unfinished = `${files.requestFile}.new`;
    await writeFile(unfinished, requestPem);
    await rename(unfinished, files.requestFile);
  },
  readCertificate: () => readFile(files.certFile, 'utf8').catch(() => undefined),
});
