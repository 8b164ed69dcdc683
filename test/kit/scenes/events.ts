import type { ServerResponse } from 'node:http';
import type { ProviderHandler } from '../provider.ts';

/** The envelope of a provider's chunks. Like real ones, it has the provider's own ids and names. */
export const envelope = {
  id: 'provider-own-id',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'provider-own-model',
  system_fingerprint: 'fp_secret',
};

export interface ChunkOptions {
  readonly finish?: string;
  /** Further members of the event. */
  readonly more?: object;
  /** Further members of the choice. */
  readonly choice?: object;
}

/** Returns the JSON of one event. */
export const chunk = (delta: object, { finish, more, choice }: ChunkOptions = {}): string =>
  JSON.stringify({
    ...envelope,
    choices: [{ index: 0, delta, finish_reason: finish ?? null, ...choice }],
    ...more,
  });

export const frame = (data: string): string => `data: ${data}\n\n`;
export const text = (content: string, options?: ChunkOptions): string => frame(chunk({ content }, options));
export const role = frame(chunk({ role: 'assistant', content: '' }));
export const finish = frame(chunk({}, { finish: 'stop' }));
export const done = 'data: [DONE]\n\n';

export const usageOf = (promptTokens: number, completionTokens: number): object => ({
  usage: {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  },
});
export const usage = frame(JSON.stringify({ ...envelope, choices: [], ...usageOf(10, 20) }));

/** The events that properly end a stream. */
export const ending = finish + usage + done;

export const openStream = (response: ServerResponse, headers: Record<string, string> = {}): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
};

/**
 * Writes and waits until the kernel has the bytes. A quick reader then gets each piece in its own read. Resolves to
 * false if the connection is closed.
 */
export const send = (response: ServerResponse, bytes: string | Buffer): Promise<boolean> =>
  new Promise((resolve) => response.write(bytes, (error) => resolve(error == null)));

/** Streams the pieces unchanged, one write each, and ends. */
export const stream = (...pieces: readonly (string | Buffer)[]): ProviderHandler =>
  streamThen((response) => void response.end(), ...pieces);

/** Streams pieces, then does something else instead of ending. */
export const streamThen =
  (then: (response: ServerResponse) => void, ...pieces: readonly (string | Buffer)[]): ProviderHandler =>
  async (_request, response) => {
    openStream(response);
    for (const piece of pieces) await send(response, piece);
    then(response);
  };
