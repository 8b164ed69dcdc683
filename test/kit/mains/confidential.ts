import { composeBroker, openAttestation, readRegistryFile } from '@sotto/confidential';
import { readBrokerConfig } from '@sotto/server';
import { createRedisState } from '@sotto/state';
import { pino } from 'pino';
import { testVerification } from './verification.ts';

// Starts the broker like its own main on a machine without hardware, except for the verification of providers'
// enclaves.
const { TEST_ENCLAVES, ...environment } = process.env;
const read = readBrokerConfig(environment);
if (!read.ok) throw new Error(read.message);
const config = read.settings;
const state = createRedisState({ url: config.REDIS_URL });
const { broker } = await composeBroker(config, {
  ...testVerification(TEST_ENCLAVES),
  state,
  logger: pino({ level: config.LOG_LEVEL }),
  registryFile: await readRegistryFile(config.PROVIDERS_FILE),
  providerKey: (name) => environment[name],
  producer: await openAttestation({ ATTESTATION: 'simulated' }, () => {}),
});
await broker.start();
await broker.app.listen({ host: config.HOST, port: config.CONFIDENTIAL_PORT });
process.on('SIGTERM', () => {
  void broker
    .drain({ announceMs: 0, graceMs: 10_000 })
    .then(() => state.close())
    .then(() => process.exit(0));
});
