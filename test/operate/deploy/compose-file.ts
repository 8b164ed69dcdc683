import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../../../', import.meta.url));
export const readOwn = (path: string): string => readFileSync(join(root, path), 'utf8');

export interface ComposeService {
  readonly image: string;
  readonly environment?: Record<string, string>;
  readonly networks: readonly string[];
  readonly secrets?: readonly (string | { readonly source: string; readonly target: string })[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly build?: { readonly dockerfile: string };
  readonly depends_on?: Record<string, { readonly condition: string }>;
  readonly stop_grace_period?: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an object is what it tests.
  readonly [name: string]: any;
}
export interface ComposeFile {
  readonly services: Record<string, ComposeService>;
  readonly networks: Record<string, { readonly internal?: boolean }>;
  readonly secrets: Record<string, { readonly file: string }>;
}

/** Interpolates `${NAME}`, `${NAME-default}`, `${NAME:-default}` and `${NAME:?error}` as Compose does. */
export const interpolated = (value: unknown, env: Readonly<Record<string, string>>): unknown => {
  if (Array.isArray(value)) return value.map((each) => interpolated(each, env));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, interpolated(each, env)]));
  if (typeof value !== 'string') return value;
  return value.replace(
    /\$\{([A-Z_]+)(?:(:?[-?])([^}]*))?\}/g,
    (_, name: string, how: string | undefined, other = '') => {
      if (env[name] || (how === '-' && env[name] !== undefined)) return env[name] ?? '';
      if (how === ':?') throw new Error(`${name}: ${other}`);
      return other;
    },
  );
};
/** The variables of .env.example. As in Compose, they may use each other. */
export const variables: Record<string, string> = {};
for (const line of readOwn('.env.example').split('\n')) {
  const [, name = '', value = ''] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
  if (name !== '') variables[name] = String(interpolated(value, variables));
}
export const composeWith = (env: Readonly<Record<string, string>>): ComposeFile =>
  interpolated(parse(readOwn('docker-compose.yml'), { merge: true }), env) as ComposeFile;
