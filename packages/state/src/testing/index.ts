/** How the answers of scripts are read, for the fuzzer. */
export { readJson } from '../steps/read-reply.ts';
