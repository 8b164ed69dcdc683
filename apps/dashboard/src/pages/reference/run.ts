import type { Described } from './described.ts';

/**
 * How this page can run an operation. `private`: by the private flow, with the key of the tab. `session`: with the session of
 * this browser. `open`: without a credential. Changes of an account are not run here, so that nobody makes one by reading.
 */
type RunKind = 'private' | 'session' | 'open';

/** What the private client sends. */
const privatePaths = ['/chat/completions', '/embeddings', '/images/generations', '/audio/speech'] as const;
type PrivatePath = (typeof privatePaths)[number];

/** The path of the private flow that an operation has, without `/v1`. */
export const privatePathOf = ({ origin, method, path }: Described): PrivatePath | undefined =>
  origin === 'broker' && method === 'post' ? privatePaths.find((one) => path === `/v1${one}`) : undefined;

export function runKindOf(described: Described): RunKind | undefined {
  const { origin, method, operation } = described;
  if (privatePathOf(described) !== undefined) return 'private';
  if (method !== 'get' || redirects(described)) return undefined;
  if (operation.security.length === 0) return 'open';
  const takesSession = operation.security.some((each) => 'session' in each);
  return origin === 'control' && takesSession ? 'session' : undefined;
}

/** An operation that only sends a browser elsewhere has no answer to show. */
const redirects = ({ operation }: Described): boolean =>
  Object.keys(operation.responses).every((status) => !status.startsWith('2'));

/** The address of an operation with the typed values. Empty ones are left out of the query. */
export function targetOf({ address, path, operation }: Described, values: Readonly<Record<string, string>>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = (operation.parameters ?? [])
    .filter(({ in: where, name }) => where === 'query' && (values[name] ?? '') !== '')
    .map(({ name }) => [name, values[name] ?? ''] as const);
  const search = new URLSearchParams(query.map(([name, value]) => [name, value]));
  return `${address}${filled}${search.size === 0 ? '' : `?${search}`}`;
}

/** Reads a typed body; undefined if it is not a JSON object. */
export function parsedObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
