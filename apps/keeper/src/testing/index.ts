/** The keeper's readers of files, for the fuzzer and tests. */

export { FileError, parsePins, parseSecrets } from '../files.ts';
