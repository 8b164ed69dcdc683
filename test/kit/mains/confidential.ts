import { readFileSync } from 'node:fs';
import { buildBroker, readConfig } from '@sotto/confidential';
import { createRedisState } from '@sotto/state';
import { pino } from 'pino';
import { testVerification } from './verification.ts';

// The broker as its own main starts it, but for how it verifies providers' enclaves.
const { TEST_ENCLAVES, ...environment } = process.env;
const read = readConfig(environment);
if (!read.ok) throw new Error(read.message);
const { config } = read;
const state = createRedisState({ url: config.redisUrl });
const broker = await buildBroker({
  ...testVerification(TEST_ENCLAVES),
  state,
  logger: pino({ level: config.logLevel }),
  registryFile: { name: 'registry', bytes: readFileSync(config.providersFile ?? '') },
  providerKey: (name) => environment[name],
  secrets: config.secrets,
  media: config.media,
  trustProxy: config.trustProxy,
});
await broker.start();
await broker.app.listen({ host: config.host, port: config.port });
process.on('SIGTERM', () => {
  void broker
    .drain(10_000)
    .then(() => state.close())
    .then(() => process.exit(0));
});
