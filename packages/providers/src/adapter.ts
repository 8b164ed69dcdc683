import type { Usage } from '@sotto/money';
import type { AttemptOutcome, RegistryProvider } from '@sotto/router';
import type {
  ChatCompletion,
  ChatRequest,
  EmbeddingsRequest,
  ImageRequest,
  SpeechRequest,
  UsageAnswer,
} from '@sotto/wire';
import type { CallerParameters } from './caller-parameters.ts';

/** One HTTP request to a provider, without its address and key. */
export interface UpstreamRequest {
  /** Appended to the provider's base path. */
  readonly path: string;
  readonly body: string;
  readonly accept: string;
}

/** A request that is forwarded unchanged. The client chose its bytes and the headers that belong to them. */
export interface RelayedRequest {
  readonly path: string;
  readonly body: Uint8Array;
  readonly accept: string;
  readonly contentType: string;
  /** Name, value, name, value. The provider's key is added. */
  readonly headers: readonly string[];
  /** Further headers of the answer to return, lower case. */
  readonly answerHeaders: readonly string[];
}

/**
 * A request that a provider's API cannot express. Nothing was sent. Another provider may accept it; if there is none,
 * the client gets a 400 with this message.
 */
export interface UnsupportedRequest {
  /**
   * A sentence in this service's own words about what the API cannot carry and what it accepts. It never quotes
   * content.
   */
  readonly unsupported: string;
  /** The field of the request that causes the refusal. */
  readonly param?: string;
}

/** The settings of one route of a request. */
export interface UpstreamTarget {
  readonly upstreamModel: string;
  /** The caller's parameters for this provider, as `callerParameters` lists them, then the registry's fixed fields. */
  readonly extraBody: Readonly<Record<string, unknown>>;
}

/** The settings of one route of a chat request. */
export interface ChatTarget extends UpstreamTarget {
  /** Always sent, so that the cost cannot exceed the hold. */
  readonly maxOutputTokens: number;
  /**
   * Asks the model to think, with an effort that the route offers or the model's default. `off` turns thinking off if
   * the model allows it. Undefined leaves the choice to the provider.
   */
  readonly reasoning: { readonly effort: string | undefined } | 'off' | undefined;
  readonly dialect: RegistryProvider['request'];
}

/** Replaces the provider's own ids and names in answers to clients. ASCII only. */
export interface AnswerIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The canonical model id. */
  readonly model: string;
}

/** The usage that a provider reported. It is corrected if the API counts reasoning outside the completion. */
export interface ReportedUsage {
  readonly usage: Usage;
  /** The details that the provider reported, for the client, in OpenAI's shape. */
  readonly details: Pick<UsageAnswer, 'prompt_tokens_details' | 'completion_tokens_details'>;
}

export type AnswerReading<Answer> =
  | {
      readonly ok: true;
      readonly answer: Answer;
      readonly reported: ReportedUsage | undefined;
      /** Bytes of text, reasoning and tool arguments. They are counted if the provider reports no usage. */
      readonly producedBytes: number;
    }
  | { readonly ok: false; readonly outcome: AttemptOutcome };

/** Reads one whole answer as its pieces arrive. One reader serves one attempt. */
export interface AnswerReader<Answer> {
  /** Takes bytes. Never throws. */
  push(bytes: Buffer): void;
  /** Ends the answer and returns the result. */
  end(): AnswerReading<Answer>;
}

export type ChatAnswer = Omit<ChatCompletion, 'usage'>;
/** Vectors in the order of the inputs, each as its JSON text in the encoding that the request asked for. */
export interface EmbeddingsResult {
  readonly vectors: readonly (readonly Buffer[])[];
  /** The number of values in each vector. */
  readonly dimensions: number;
}

export interface ChatStreamOptions {
  readonly identity: AnswerIdentity;
  /** Whether to leave the reasoning trace out. */
  readonly stripReasoning: boolean;
}

/**
 * Reads one provider's stream and writes ours. Bytes in both directions are `latin1` strings, one character for each
 * byte. One reader serves one attempt, so a failed attempt cannot affect the next.
 */
export interface ChatStreamReader {
  /** Takes bytes and returns the frames to send, possibly none. Never throws. */
  push(bytes: string): string;
  /** Ends the stream when the provider has closed it. Returns the pending frames. */
  end(): string;
  /** Whether content, reasoning, a tool call or a finish reason was seen. All of these count as output. */
  readonly hasOutput: boolean;
  /** Whether the answer is whole: a finish reason or the terminator was seen. */
  readonly isComplete: boolean;
  /** Whether the provider has said that nothing more follows. */
  readonly isTerminated: boolean;
  /** Set once the stream reported or showed a failure. */
  readonly failure: AttemptOutcome | undefined;
  readonly reported: ReportedUsage | undefined;
  readonly producedBytes: number;
  /** The value of `producedBytes` when `reported` arrived. The report does not cover later output. */
  readonly reportedAtBytes: number;
  /** Number of events so far. It limits the events that are held back before the first output. */
  readonly events: number;
}

/** The settings of one route of an image request. */
export interface ImageTarget {
  readonly upstreamModel: string;
  /**
   * The `response_format` that makes the provider answer base64. Default: `b64_json`. `none` means that the provider
   * always answers base64 and does not accept the field.
   */
  readonly responseFormat: 'b64_json' | 'base64' | 'none' | undefined;
}

/** One image. Its base64 stays in the pieces in which it arrived, so that it is relayed without a second copy in memory. */
export interface ImageResult {
  readonly base64: readonly Buffer[];
  readonly mimeType: string;
}

/** Images of one provider API. Pure, like the rest of an adapter. */
export interface ImageAdapter {
  request(request: ImageRequest, target: ImageTarget): UpstreamRequest;
  openReader(): AnswerReader<ImageResult>;
}

/** The settings of one route of a speech request. */
export interface SpeechTarget {
  readonly upstreamModel: string;
  /** The voice for a request that names none. If undefined, no voice is sent. */
  readonly defaultVoice: string | undefined;
}

/** Speech of one provider API. Its answer is raw audio, which is not parsed. */
export interface SpeechAdapter {
  request(request: SpeechRequest, target: SpeechTarget): UpstreamRequest;
  /** Whether a 2xx answer with this `content-type` is the requested audio. */
  isAudio(contentType: string): boolean;
  /** Classifies a 2xx answer that is not audio. */
  classifyBody(body: Buffer): AttemptOutcome;
}

/** Translates between the OpenAI shape and one provider API. Pure: no sockets, no clock. */
export interface Adapter {
  /** The headers of every request, as name, value, name, value: the credentials and the version of the API. */
  headers(apiKey: string | undefined): readonly string[];
  /** The API's own parameters that callers may set for chat. All others are refused. */
  readonly callerParameters: CallerParameters;
  chatRequest(request: ChatRequest, target: ChatTarget): UpstreamRequest | UnsupportedRequest;
  readChat(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer>;
  openChatStream(options: ChatStreamOptions): ChatStreamReader;
  embeddingsRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest | UnsupportedRequest;
  /** Opens a reader for one answer. `BufferedReader` serves an API whose answers are read in one step. */
  openEmbeddings(request: EmbeddingsRequest): AnswerReader<EmbeddingsResult>;
  /** Absent if the provider's API does not offer images. */
  readonly images?: ImageAdapter;
  readonly speech?: SpeechAdapter;
  /** Classifies a failed answer by its status. The body only distinguishes a refused content from a bad request. */
  classifyFailure(status: number, body: Buffer): AttemptOutcome;
}

/** The header of providers that take their key as a bearer token. Empty without a key. */
export const bearer = (apiKey: string | undefined): readonly string[] =>
  apiKey === undefined ? [] : ['authorization', `Bearer ${apiKey}`];

/** Buffers an answer until it ends, for a function that reads it in one step. */
export class BufferedReader<Answer> implements AnswerReader<Answer> {
  readonly #read: (body: Buffer) => AnswerReading<Answer>;
  readonly #body: Buffer[] = [];

  constructor(read: (body: Buffer) => AnswerReading<Answer>) {
    this.#read = read;
  }

  push(bytes: Buffer): void {
    this.#body.push(bytes);
  }

  end(): AnswerReading<Answer> {
    const [first] = this.#body;
    return this.#read(this.#body.length === 1 && first !== undefined ? first : Buffer.concat(this.#body));
  }
}

/**
 * Returns the usage for the client, without its cost. It has the metered counts, so that anyone can recompute the
 * charge, and the details that the provider reported.
 */
export function shownUsage(reported: ReportedUsage | undefined, metered: Usage): Omit<UsageAnswer, 'cost'> {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = metered;
  const { prompt_tokens_details: ofPrompt, completion_tokens_details: ofCompletion } = reported?.details ?? {};
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(ofPrompt === undefined ? {} : { prompt_tokens_details: { ...ofPrompt, cached_tokens: cachedTokens } }),
    ...(ofCompletion === undefined
      ? {}
      : { completion_tokens_details: { ...ofCompletion, reasoning_tokens: reasoningTokens } }),
  };
}
