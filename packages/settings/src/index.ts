export type { TrustProxy } from './kinds.ts';
export * as setting from './kinds.ts';
export { type Environment, readSettings, type Settings } from './read-settings.ts';
export { isSecretName, withSecretFiles } from './secret-files.ts';
