import { constants, randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Server } from 'node:https';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { type AuthorityFiles, openTlsFiles, type Repeated, repeat, type TlsConfig } from '@sotto/server';
import { type CertificateExchange, type NamedTlsKeys, TlsKeeper } from './tls-keeper.ts';
import { areForTheSame, makeTlsKey, type TlsKey, type Validity } from './tls-key.ts';

/**
 * The broker's TLS settings. No session tickets: a resumed session would prove the key of an earlier connection, and
 * would show an observer which connections belong together.
 */
export const tlsOptions = { minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET } as const;

/** The key and certificate of the broker's listener, and how they are kept up to date. */
export interface ServedTls {
  readonly options: typeof tlsOptions & { readonly key: string; readonly cert: string };
  /** Gives a listening server each new key or certificate; undefined if none will come. */
  readonly follow: ((server: object) => Repeated) | undefined;
  /**
   * The keys that attestation names now. Undefined if the key came from outside, because its holder could end TLS
   * elsewhere.
   */
  readonly named: (() => NamedTlsKeys) | undefined;
}

const resendMs = 60_000;
/** While an authority has not certified the key, plain clients cannot connect. */
const awaitedMs = 1_000;

/**
 * Opens the TLS that CONFIDENTIAL_TLS asks for; undefined without TLS. Throws the file system's error about its files.
 */
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
      const keptFile = config.authority?.keptKeyFile;
      const makeKey = (validity: Validity): Promise<TlsKey> =>
        keptFile === undefined ? makeTlsKey(hostname, validity) : keepTlsKey(keptFile, hostname, validity);
      const keeper = await TlsKeeper.start({ now, makeKey, authority, isKept: keptFile !== undefined });
      await keeper.refresh();
      const options = { ...tlsOptions, ...keeper.served };
      return {
        options,
        named: () => keeper.named,
        follow: (server) => {
          let given = options.cert;
          return repeat(resendMs, async () => {
            // Also if this fails: it may have found a certificate before it failed.
            await keeper.refresh().finally(() => {
              if (keeper.served.cert === given || !(server instanceof Server)) return;
              server.setSecureContext({ ...tlsOptions, ...keeper.served });
              given = keeper.served.cert;
            });
            if (keeper.awaitsCertificate) await new Promise((resolve) => setTimeout(resolve, awaitedMs));
            return keeper.awaitsCertificate;
          });
        },
      };
    }
  }
}

/**
 * Checks whether a broker with this evidence may keep its TLS key in a file. Returns the problem, or undefined. Real
 * evidence says that the key never left the machine's memory.
 */
export function problemOfKeptKey(
  tls: TlsConfig,
  producer: Pick<EvidenceProducer, 'kind'> | undefined,
): string | undefined {
  const isKept = tls.kind === 'self' && tls.authority?.keptKeyFile !== undefined;
  if (!isKept || producer === undefined || producer.kind === 'simulated') return undefined;
  return 'TLS_KEPT_KEY_FILE is set: where evidence is real, the key stays in memory, because others could read a file';
}

/** Reads the key of a file, or makes it. Brokers that share the file share the key. */
async function keepTlsKey(file: string, hostname: string, validity: Validity): Promise<TlsKey> {
  const kept = await readIfThere(file);
  if (kept !== undefined) return makeTlsKey(hostname, validity, kept);
  const made = await makeTlsKey(hostname, validity);
  const unfinished = `${file}.${randomUUID()}`;
  try {
    await writeFile(unfinished, made.keyPem, { mode: 0o600, flag: 'wx' });
    await link(unfinished, file);
    return made;
  } catch (error) {
    // Another broker was first.
    const other = await readIfThere(file);
    if (other === undefined) throw error;
    return await makeTlsKey(hostname, validity, other);
  } finally {
    await rm(unfinished, { force: true });
  }
}

const readIfThere = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

/**
 * Exchanges files with an authority. A request is written whole or not at all, because an ACME client may read the file
 * at any time. One that already asks for the same stays, because it may be signed.
 */
const exchangeOf = (files: AuthorityFiles): CertificateExchange => ({
  async writeRequest(requestPem) {
    const present = await readIfThere(files.requestFile);
    if (present !== undefined && areForTheSame(present, requestPem)) return;
    // Brokers that share a key may write at the same time.
    const unfinished = `${files.requestFile}.${randomUUID()}`;
    try {
      await writeFile(unfinished, requestPem);
      await rename(unfinished, files.requestFile);
    } finally {
      await rm(unfinished, { force: true });
    }
  },
  readCertificate: () => readFile(files.certFile, 'utf8').catch(() => undefined),
});
