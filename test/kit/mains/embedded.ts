import { fileURLToPath } from 'node:url';
import { readConfig, startEverything } from '@sotto/embedded';
import { testVerification } from './verification.ts';

// Starts embedded mode like its own main, except for the verification of providers' enclaves.
const { TEST_ENCLAVES, ...environment } = process.env;
const read = readConfig(environment, fileURLToPath(new URL('../../../', import.meta.url)));
if (!read.ok) throw new Error(read.message);
const stops: (() => Promise<void>)[] = [];
process.on('SIGTERM', () => {
  void (async () => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop().catch(() => {});
    process.exit(0);
  })();
});
await startEverything(read.settings, (stop) => stops.push(stop), testVerification(TEST_ENCLAVES));
