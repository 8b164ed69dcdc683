/** The release of secrets needs no service: a keeper in this process, and brokers that ask it as machines with evidence. */

import { randomBytes } from 'node:crypto';
import { request } from 'node:https';
import { certifyServer, Issuer, type TdxMachine, toPem } from '@sotto/attestation/testing';
import { makeTlsKey, obtainSecrets } from '@sotto/confidential/testing';
import { buildKeeper, type KeeperOptions } from '@sotto/keeper';
import { freePort } from '@sotto/test-servers';
import { clock, pins, verifier } from '../attestation/world.ts';

export const registryDigest = 'ab'.repeat(32);
/** The pins: the stand-in machines, with one registry. */
export const keeperPins = { ...pins, provider_registries: [`sha256:${registryDigest}`] };

export interface TestKeeper {
  readonly origin: string;
  /** The authority of its certificate, PEM. */
  readonly ca: string;
  readonly released: number[];
  readonly refused: { readonly verdict: string; readonly checks: readonly { readonly name: string }[] }[];
  readonly unreadable: string[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

type Given = Pick<KeeperOptions, 'pins' | 'secrets' | 'verify'> & Partial<Pick<KeeperOptions, 'now'>>;

/** Creates a keeper on loopback without starting it. */
export async function makeKeeper(given: Given): Promise<TestKeeper> {
  const authority = await Issuer.make('Test Authority');
  const { cert, key } = await certifyServer(authority);
  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  const seen: Pick<TestKeeper, 'released' | 'refused' | 'unreadable'> = { released: [], refused: [], unreadable: [] };
  const build = () =>
    buildKeeper({
      ...{ now: Date.now, origin, tls: { cert, key }, ...given },
      events: {
        released: ({ secrets }) => void seen.released.push(secrets),
        refused: (fields) => void seen.refused.push(fields),
        unreadable: (problem) => void seen.unreadable.push(problem),
        shed: () => {},
        unexpected: (error) => {
          throw new Error(JSON.stringify(error));
        },
        lifecycle: () => {},
      },
    });
  let app: ReturnType<typeof build> | undefined;
  return {
    ...seen,
    origin,
    ca: toPem(await authority.certifySelf()),
    async start() {
      app = build();
      await app.listen({ host: '127.0.0.1', port });
    },
    async stop() {
      app?.server.closeAllConnections();
      await app?.close();
    },
  };
}

/** Verifies machines as a keeper does, under the root of a stand-in. */
export const verifyUnder = (machine: TdxMachine): KeeperOptions['verify'] => {
  const verify = verifier({ tdx: machine });
  return (document, { tlsSpki = new Uint8Array(), ...challenge }) => verify({ document, tlsSpki }, challenge);
};

/** Asks as a broker does, until the first refusal. Resolves to the secrets or to the reason for the refusal. */
export async function askOnce(
  keeper: Pick<TestKeeper, 'origin' | 'ca'>,
  producer: Parameters<typeof obtainSecrets>[0]['producer'],
  { digest = registryDigest, ...asking }: { readonly digest?: string; readonly now?: () => number } = {},
): Promise<Readonly<Record<string, string>> | string> {
  let reason = '';
  const gaveUp = new Error('given up');
  return obtainSecrets({
    ...{ origin: keeper.origin, ca: keeper.ca, producer, registryDigest: digest, now: asking.now ?? clock.now },
    names: new Set(['ACME_API_KEY', 'TICKET_SEALING_KEY']),
    events: {
      secretsAwaited: (fields) => {
        reason = fields.reason;
      },
      secretsReleased: () => {},
    },
    wait: () => Promise.reject(gaveUp),
  }).catch((error: unknown) => {
    if (error !== gaveUp) throw error;
    return reason;
  });
}

export interface RawAnswer {
  readonly status: number;
  readonly body: {
    readonly nonce?: string;
    readonly secrets?: unknown;
    readonly error?: { readonly type: string; readonly message: string };
  };
}

/** Sends a request with any client certificate: that of `key`, or none. */
export function postTo(
  keeper: Pick<TestKeeper, 'origin' | 'ca'>,
  path: string,
  body: string,
  key?: { readonly keyPem: string; readonly certificatePem: string },
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const identity = key === undefined ? {} : { key: key.keyPem, cert: key.certificatePem };
    const options = { method: 'POST', agent: false, ca: keeper.ca, ...identity } as const;
    const headers = { 'content-type': 'application/json' };
    const asked = request(new URL(path, keeper.origin), { ...options, headers }, (answer) => {
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as RawAnswer['body'] }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

export const clientKey = () => makeTlsKey('broker', { from: clock.nowMs - 60_000, until: clock.nowMs + 600_000 });
export const freshSecret = (): string => randomBytes(32).toString('base64');
