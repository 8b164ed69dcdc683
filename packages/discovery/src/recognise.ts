import type { Ask, ReadServer, ServedModel, ServerKind } from './model-server.ts';
import { readLlamaCpp } from './servers/llama-cpp.ts';
import { readLmStudio } from './servers/lm-studio.ts';
import { readOllama } from './servers/ollama.ts';
import { readVllm } from './servers/vllm.ts';

/** The name of each kind of server, its usual port and how to read it. In this order a server is tried. */
export const serverKinds: Readonly<
  Record<ServerKind, { readonly name: string; readonly port: number; readonly read: ReadServer }>
> = {
  ollama: { name: 'Ollama', port: 11_434, read: readOllama },
  lmstudio: { name: 'LM Studio', port: 1234, read: readLmStudio },
  llamacpp: { name: 'llama.cpp', port: 8080, read: readLlamaCpp },
  vllm: { name: 'vLLM', port: 8000, read: readVllm },
};

/** A model server that was recognised by its own API. */
export interface ModelServer {
  readonly kind: ServerKind;
  /** The address of its OpenAI-compatible API, such as `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  readonly models: readonly ServedModel[];
  /** The models that it lists and that are not offered, with the reason. */
  readonly leftOut: readonly { readonly model: string; readonly reason: string }[];
}

/**
 * Recognises a model server by its own API, whatever its port is, and reads its models. `base` has no slash at its end, and no `/v1`.
 * Resolves to undefined if nothing answers there, or something else.
 */
export async function recogniseServer(base: string, ask: Ask): Promise<ModelServer | undefined> {
  const askOnce = once(ask);
  for (const [kind, { read }] of entries(serverKinds)) {
    const leftOut: { model: string; reason: string }[] = [];
    const models = await read(askOnce, (model, reason) => leftOut.push({ model, reason }));
    if (models !== undefined) return { kind, baseUrl: `${base}/v1`, models, leftOut };
  }
  return undefined;
}

/** Keeps the answers to GETs, because several kinds of servers have a list under the same path. */
function once(ask: Ask): Ask {
  const answers = new Map<string, Promise<unknown>>();
  return (path, body) => {
    if (body !== undefined) return ask(path, body);
    const answer = answers.get(path) ?? ask(path);
    answers.set(path, answer);
    return answer;
  };
}

const entries = <Key extends string, Value>(record: Readonly<Record<Key, Value>>): [Key, Value][] =>
  Object.entries(record) as [Key, Value][];
