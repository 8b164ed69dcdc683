import type { IncomingHttpHeaders } from 'node:http';
import type { SeenRequest } from '../provider.ts';

/** One side's say in a conversation, in one form for all vendors. */
export interface AskedTurn {
  readonly side: 'user' | 'model';
  readonly text: string;
  /** Media types of images in the request, and addresses of others. */
  readonly images: readonly string[];
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  /** Results of the calls before, in their order. */
  readonly results: readonly string[];
  /** What the provider gets back of its own reasoning: signatures and what only it can read. */
  readonly signatures: readonly string[];
}

/** What a vendor understands a request to be. */
export interface Asked {
  readonly model: string;
  readonly stream: boolean;
  readonly key: string | undefined;
  readonly system: string;
  readonly turns: readonly AskedTurn[];
  readonly tools: readonly string[];
  /** `auto` where nothing is said. */
  readonly toolChoice: string;
  /** The JSON schema of the answer. */
  readonly schema: unknown;
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  readonly stop: readonly string[];
}

export interface SaidUsage {
  /** Prompt tokens that are not from the cache and not written to it. */
  readonly fresh: number;
  readonly cached?: number;
  readonly written?: number;
  /** Output without reasoning. */
  readonly output: number;
  readonly reasoning?: number;
}

/** What a vendor shall answer. */
export interface Says {
  readonly text?: string;
  readonly reasoning?: { readonly text: string; readonly signature: string };
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  readonly finish?: 'stop' | 'length' | 'refusal';
  readonly usage: SaidUsage;
}

/** A stream in the vendor's own framing, in pieces that a test may stop between. */
export interface SaidStream {
  /** What comes before any output. */
  readonly head: readonly Buffer[];
  readonly pieces: readonly Buffer[];
  /** The reason to stop, the usage and what else properly ends a stream. */
  readonly tail: readonly Buffer[];
}

/** How one vendor speaks. Names and texts that no client may see hold `LEAK`. */
export interface Dialect {
  readonly adapter: 'openai' | 'azure' | 'anthropic' | 'google' | 'bedrock';
  /** The path of `base_url`. */
  readonly basePath: string;
  readonly streamType: string;
  /** The model of a request, wherever it stands; unlike `asked`, this takes any request. */
  modelOf(request: SeenRequest): string;
  /** Reads a request of exactly the shape that the vendor documents; throws at any other. */
  asked(request: SeenRequest): Asked;
  whole(says: Says): object;
  stream(says: Says): SaidStream;
  /** The body of a failed answer. */
  error(status: number, message: string): object;
  /** How the vendor says that it refuses the content, by a failed answer or a body without one. */
  readonly refusal: { readonly status: number; readonly body: object };
  /** An error inside a stream under status 200, after which nothing follows. */
  streamError(message: string): Buffer;
}

export const sse = (payload: unknown, event?: string): Buffer =>
  Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(payload)}\n\n`);

/** The words of a text, each with the space before it. */
export const words = (text: string): string[] => text.match(/\s*\S+/g) ?? [];

/** A header that may stand once. */
export const one = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  if (Array.isArray(value)) throw new Error(`${name} stands more than once`);
  return value;
};
