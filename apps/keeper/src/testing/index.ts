/** The keeper's readers of settings and files, for the fuzzer and tests. */

export { readConfig } from '../config.ts';
export { FileError, parsePins, parseSecrets } from '../files.ts';
