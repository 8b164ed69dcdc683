import * as z from 'zod';

/** The model servers that can be recognised by their own API. */
export type ServerKind = 'ollama' | 'lmstudio' | 'llamacpp' | 'vllm';

/** A model that a server runs itself, with the facts that the server states. */
export interface ServedModel {
  /** The name that requests to the server use. */
  readonly name: string;
  readonly type: 'text' | 'embedding';
  /** Tokens of prompt and answer together. */
  readonly contextLength: number;
  readonly tools: boolean;
  readonly vision: boolean;
  readonly structuredOutput: boolean;
  /** Absent: the model does not reason, or the server does not say so. */
  readonly reasoning?: { readonly efforts: readonly string[]; readonly canDisable: boolean };
}

/**
 * Asks a server for JSON: a GET, or a POST of `body`. Resolves to undefined if there is no answer, no success or no
 * JSON. `path` begins with a slash.
 */
export type Ask = (path: string, body?: object) => Promise<unknown>;

/**
 * Reads the models of one kind of server. Resolves to undefined if the answers are not those of this kind. `leave` is
 * told of each model that is left out, and why.
 */
export type ReadServer = (ask: Ask, leave: Leave) => Promise<readonly ServedModel[] | undefined>;

export type Leave = (model: string, reason: string) => void;

/** Reads another program's answer loosely: a field of an unexpected shape counts as absent. */
export const loose = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined);

/** A number of tokens. A value of 0, as some servers write for "unknown", counts as absent. */
export const tokens = z
  .number()
  .int()
  .min(1)
  .max(100_000_000)
  .nullish()
  .catch(undefined)
  .transform((count) => count ?? undefined);

/** No list of models is longer, in bytes. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Asks the server at an address, with a time limit for each question in ms, and with its key if it has one. It follows no redirect,
 * because the answer of another server would describe that one.
 */
export function askServer(base: string, fetch: typeof globalThis.fetch, timeoutMs: number, key?: string): Ask {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return async (path, body) => {
    try {
      const answer = await fetch(`${base}${path}`, {
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
        headers: { ...authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });
      if (!answer.ok) {
        await answer.body?.cancel();
        return undefined;
      }
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for await (const part of answer.body ?? []) {
        bytes += part.length;
        // Leaving the loop ends the transfer.
        if (bytes > maxBytes) return undefined;
        parts.push(part);
      }
      return JSON.parse(new TextDecoder().decode(Buffer.concat(parts)));
    } catch {
      return undefined;
    }
  };
}
