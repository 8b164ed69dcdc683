import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Keeps compiled modules between starts, which saves a third of the CPU of each. It is a module for `--import`, because a
// broker rejects the variable NODE_COMPILE_CACHE.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/sotto-compiled', import.meta.url)));
