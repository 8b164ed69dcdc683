import { fileURLToPath } from 'node:url';

/** The catalog that comes with control: well-known models at the providers of the built-in registry. */
export const builtInCatalog = fileURLToPath(new URL('../../catalog.yaml', import.meta.url));
