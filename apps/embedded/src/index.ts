export { readConfig } from './config.ts';
export type { EnclaveVerification } from './one-process.ts';
export { startEverything } from './start.ts';
