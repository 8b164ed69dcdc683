import type { IncomingHttpHeaders } from 'node:http';
import type { SeenRequest } from '../provider.ts';

/** One turn of a conversation, in the same form for all vendors. */
export interface AskedTurn {
  readonly side: 'user' | 'model';
  readonly text: string;
  /** Media types of the inline images, and addresses of the others. */
  readonly images: readonly string[];
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  /** Results of the preceding calls, in their order. */
  readonly results: readonly string[];
  /**
   * The parts of its own reasoning that the provider gets back: signatures, and data that only the provider can read.
   */
  readonly signatures: readonly string[];
}

/** A turn without a side, whose parts a dialect fills in. */
export const emptyTurn = () => ({
  text: '',
  images: [] as string[],
  calls: [] as AskedTurn['calls'][number][],
  results: [] as string[],
  signatures: [] as string[],
});

/** A request as the vendor understands it. */
export interface Asked {
  readonly model: string;
  readonly stream: boolean;
  readonly key: string | undefined;
  readonly system: string;
  readonly turns: readonly AskedTurn[];
  readonly tools: readonly string[];
  /** `auto` if the request has no choice. */
  readonly toolChoice: string;
  /** The JSON schema of the answer. */
  readonly schema: unknown;
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  readonly stop: readonly string[];
}

export interface SaidUsage {
  /** Prompt tokens that are neither read from the cache nor written to it. */
  readonly fresh: number;
  readonly cached?: number;
  readonly written?: number;
  /** Output tokens without reasoning. */
  readonly output: number;
  readonly reasoning?: number;
}

/** The answer that the vendor shall give. */
export interface Says {
  readonly text?: string;
  readonly reasoning?: { readonly text: string; readonly signature: string };
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  readonly finish?: 'stop' | 'length' | 'refusal';
  readonly usage: SaidUsage;
}

/** A stream in the vendor's own framing, in pieces between which a test may stop. */
export interface SaidStream {
  /** The events before any output. */
  readonly head: readonly Buffer[];
  readonly pieces: readonly Buffer[];
  /** The stop reason, the usage and everything else that properly ends a stream. */
  readonly tail: readonly Buffer[];
}

/** The API of one vendor. Names and texts that clients must not see contain `LEAK`. */
export interface Dialect {
  readonly adapter: 'openai' | 'azure' | 'anthropic' | 'google' | 'bedrock';
  /** The path of `base_url`. */
  readonly basePath: string;
  readonly streamType: string;
  /** Returns the model of a request, wherever it is. Unlike `asked`, this accepts any request. */
  modelOf(request: SeenRequest): string;
  /** Reads a request of exactly the shape that the vendor documents. Throws for any other shape. */
  asked(request: SeenRequest): Asked;
  whole(says: Says): object;
  stream(says: Says): SaidStream;
  /** Returns the body of an error answer. */
  error(status: number, message: string): object;
  /** The vendor's way to refuse content: an error answer, or an answer without content. */
  readonly refusal: { readonly status: number; readonly body: object };
  /** Returns an error inside a stream with status 200. Nothing follows it. */
  streamError(message: string): Buffer;
}

export const sse = (payload: unknown, event?: string): Buffer =>
  Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(payload)}\n\n`);

/** Splits a text into words, each with the space before it. */
export const words = (text: string): string[] => text.match(/\s*\S+/g) ?? [];

/** Returns a header that may occur once. */
export const one = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  if (Array.isArray(value)) throw new Error(`${name} stands more than once`);
  return value;
};
