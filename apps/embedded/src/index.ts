export { readConfig } from './config.ts';
export type { EnclaveVerification } from './plane-environments.ts';
export { startEverything } from './start.ts';
