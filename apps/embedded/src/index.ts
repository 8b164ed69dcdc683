export { readConfig } from './config.ts';
export type { EnclaveVerification } from './one-process.ts';
export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres/index.ts';
export { startEverything } from './start.ts';
