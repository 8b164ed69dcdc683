import { readFileSync } from 'node:fs';
import { buildBroker, openAttestation, readConfig } from '@sotto/confidential';
import { createRedisState } from '@sotto/state';
import { pino } from 'pino';
import { testVerification } from './verification.ts';

// Starts the broker like its own main on a machine without hardware, except for the verification of providers'
// enclaves.
const { TEST_ENCLAVES, ...environment } = process.env;
const read = readConfig(environment);
if (!read.ok) throw new Error(read.message);
const { config } = read;
const state = createRedisState({ url: config.redisUrl });
const producer = await openAttestation({ mode: 'simulated', isProduction: false, onExpiring: () => {} });
const broker = await buildBroker({
  ...testVerification(TEST_ENCLAVES),
  state,
  logger: pino({ level: config.logLevel }),
  registryFile: { name: 'registry', bytes: readFileSync(config.providersFile ?? '') },
  providerKey: (name) => environment[name],
  secrets: config.secrets,
  media: config.media,
  trustProxy: config.trustProxy,
  gateway: producer && { origin: config.origin, producer, tlsKeys: undefined },
});
await broker.start();
await broker.app.listen({ host: config.host, port: config.port });
process.on('SIGTERM', () => {
  void broker
    .drain({ announceMs: 0, graceMs: 10_000 })
    .then(() => state.close())
    .then(() => process.exit(0));
});
