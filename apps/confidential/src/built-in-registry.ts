import { readFileSync } from 'node:fs';

/** The registry that comes with the broker: well-known providers, each on once its key is in the environment. */
export function builtInRegistry(): { readonly name: string; readonly bytes: Buffer } {
  const url = new URL('../providers.yaml', import.meta.url);
  return { name: 'providers.yaml', bytes: readFileSync(url) };
}
