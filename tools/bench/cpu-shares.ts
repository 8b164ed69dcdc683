/** The parts of a CPU profile as V8 writes it that tell where the time went. Times are in µs. */
export interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  /** The node that ran at each sample. */
  readonly samples: readonly number[];
  /** The time before each sample. */
  readonly timeDeltas: readonly number[];
}

/** What the broker does for a request, each with the sources that do it. The first that matches counts. */
const parts: readonly (readonly [name: string, source: RegExp])[] = [
  ['the client’s connection: Fastify', /\/(fastify|@fastify|find-my-way|avvio|secure-json-parse|packages\/server)\//],
  ['the provider’s connection: undici', /\/undici\//],
  ['shared state: holds, tickets and settlements in Redis', /\/(ioredis|redis-parser|redis-errors|packages\/state)\//],
  [
    'reading the request, planning its routes',
    /\/(zod|packages\/(wire|router)|confidential\/src\/(planning|models|providers))\//,
  ],
  ['the provider’s dialect, metering its answer', /\/packages\/(providers|dialects)\//],
  ['admission: key, ticket, limits, hold', /\/confidential\/src\/admission\//],
  [
    'trying routes, relaying the answer',
    /\/confidential\/src\/(attempts|answers|inference|inference-routes|chat|sealed)/,
  ],
  ['settlement: charge, receipt, event', /\/confidential\/src\/(settlement|receipts)\/|\/packages\/money\//],
  ['metrics and log', /\/confidential\/src\/(metrics|events)|\/(pino|sonic-boom|prom-client)\//],
  ['other code of ours', /\/(apps|packages)\//],
  ['other libraries', /\/node_modules\//],
  ['Node: HTTP, sockets, streams, timers, crypto', /^node:/],
];

const partOf = ({ functionName, url }: Profile['nodes'][number]['callFrame']): string | undefined => {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  return parts.find(([, source]) => source.test(url))?.[0] ?? 'native code, and the kernel for it';
};

/** Returns the share of each part in the time in which the process was not idle, the largest first. They add up to 1. */
export function sharesOf({ nodes, samples, timeDeltas }: Profile): readonly (readonly [part: string, share: number])[] {
  const partById = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const sums = new Map<string, number>();
  for (const [at, id] of samples.entries()) {
    const part = partById.get(id);
    if (part !== undefined) sums.set(part, (sums.get(part) ?? 0) + (timeDeltas[at] ?? 0));
  }
  const all = [...sums.values()].reduce((sum, each) => sum + each, 0);
  return [...sums].map(([part, sum]) => [part, sum / all] as const).sort(([, a], [, b]) => b - a);
}
