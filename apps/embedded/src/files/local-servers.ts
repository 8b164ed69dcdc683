import { setTimeout as sleep } from 'node:timers/promises';
import { askServer, type ModelServer, recogniseServer, type ServerKind, serverKinds } from '@sotto/discovery';

/** Where to look for model servers: at their usual ports, at given addresses, or nowhere. */
export type LocalModels = 'auto' | 'off' | readonly string[];

/** A model server and the id under which it is a provider: its kind, with a number from the second on. */
export interface LocalServer extends ModelServer {
  readonly id: string;
}

/** A loaded model answers a question of one token within this time. Servers that only list models take milliseconds. */
const answerMs = 3000;
/** No start waits longer for servers that accept a connection and say nothing. */
const totalMs = 5000;

/** Looks for model servers, all at once. Servers that were given and not recognised are in `unknown`. */
export async function findLocalServers(
  where: LocalModels,
): Promise<{ readonly servers: readonly LocalServer[]; readonly unknown: readonly string[] }> {
  if (where === 'off') return { servers: [], unknown: [] };
  const origins =
    where === 'auto'
      ? Object.values(serverKinds).map(({ port }) => `http://127.0.0.1:${port}`)
      : where.map((url) => new URL(url).origin);
  const looking = new AbortController();
  const found = await Promise.all(
    origins.map((origin) =>
      Promise.race([
        recogniseServer(origin, askServer(origin, globalThis.fetch, answerMs)),
        sleep(totalMs, undefined, { signal: looking.signal }).catch(() => undefined),
      ]),
    ),
  );
  looking.abort();
  const count = new Map<ServerKind, number>();
  const servers = found.flatMap((server): LocalServer[] => {
    if (server === undefined) return [];
    const nth = (count.get(server.kind) ?? 0) + 1;
    count.set(server.kind, nth);
    return [{ ...server, id: nth === 1 ? server.kind : `${server.kind}-${nth}` }];
  });
  return { servers, unknown: where === 'auto' ? [] : origins.filter((_, at) => found[at] === undefined) };
}

/** Describes the servers that were found, with a line for each, and for each model that is left out. */
export const linesOf = (servers: readonly LocalServer[], unknown: readonly string[]): string[] => [
  ...servers.flatMap(({ kind, baseUrl, models, leftOut }) => [
    `${serverKinds[kind].name} at ${baseUrl}: ${models.length === 1 ? '1 model' : `${models.length} models`}`,
    ...leftOut.map(({ model, reason }) => `  left out: ${model}: ${reason}`),
  ]),
  ...unknown.map((origin) => `${origin} (LOCAL_MODELS): no Ollama, LM Studio, llama.cpp or vLLM answers there`),
];
