import { randomBytes } from 'node:crypto';
import { type BrokerOptions, buildBroker } from '@sotto/confidential';
import { readBrokerConfig } from '@sotto/server';
import { createRedisState } from '@sotto/state';
import { freePort } from '@sotto/test-servers';
import { pino } from 'pino';
import { until } from './service.ts';

/** A broker inside the test's own process, so that the test can move its clock. */
export interface OwnBroker {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

export interface OwnBrokerOptions {
  readonly redisUrl: string;
  readonly registry: string;
  readonly secrets: SharedSecrets;
  readonly now: () => number;
  /** Produces the broker's evidence. Without it, the broker does not attest itself. */
  readonly producer?: NonNullable<BrokerOptions['gateway']>['producer'];
}

/** The secrets that brokers and control share, as in their environment. */
export type SharedSecrets = Readonly<Record<'TICKET_SEALING_KEY' | 'SETTLEMENT_MAC_KEY', string>>;

export const sharedSecrets = (): SharedSecrets => {
  const secret = (): string => randomBytes(32).toString('base64');
  return { TICKET_SEALING_KEY: secret(), SETTLEMENT_MAC_KEY: secret() };
};

/** Starts a broker on a Redis into which a running service projects. */
export async function startOwnBroker(options: OwnBrokerOptions): Promise<OwnBroker> {
  const { redisUrl, registry, secrets, now, producer } = options;
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const read = readBrokerConfig({ ...secrets, HOST: '127.0.0.1', CONFIDENTIAL_TLS: 'off', REDIS_URL: redisUrl });
  if (!read.ok) throw new Error(read.message);
  const state = createRedisState({ url: redisUrl });
  // The registry of its image, which a broker with evidence demands.
  const registryFile = { name: 'providers.yaml', bytes: Buffer.from(registry) };
  const broker = await buildBroker({
    config: read.settings,
    state,
    logger: pino({ level: 'silent' }),
    registryFile,
    imageRegistry: registryFile,
    providerKey: () => undefined,
    gateway: producer && { origin, producer, tlsKeys: undefined },
    now,
  });
  await broker.start();
  await broker.app.listen({ host: '127.0.0.1', port });
  await until(async () => (await fetch(`${origin}/readyz`)).ok, 'the broker is ready');
  return {
    baseUrl: `${origin}/v1`,
    async stop() {
      await broker.drain({ announceMs: 0, graceMs: 100 });
      await state.close();
    },
  };
}
