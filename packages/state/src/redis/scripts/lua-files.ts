import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./', import.meta.url);
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lua'));

/**
 * The text of each `.lua` file of this folder, by its path without the ending. `scripts/bundle.mjs` evaluates this module, so that a
 * bundle contains the texts.
 */
export const luaFiles: Readonly<Record<string, string>> = Object.fromEntries(
  names.sort().map((name) => [name.slice(0, -4).replaceAll('\\', '/'), readFileSync(new URL(name, folder), 'utf8')]),
);
