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

/** One HTTP request to a provider, beside its address and key. */
export interface UpstreamRequest {
  /** Appended to the provider's base path. */
  readonly path: string;
  readonly body: string;
  readonly accept: string;
}

/** A request that is passed on as it came: its bytes, and the headers that go with them, are its client's. */
export interface RelayedRequest {
  readonly path: string;
  readonly body: Uint8Array;
  readonly accept: string;
  readonly contentType: string;
  /** Names and values in turn; the provider's key is added. */
  readonly headers: readonly string[];
  /** Headers of the answer to hand over beside the usual ones, lower case. */
  readonly answerHeaders: readonly string[];
}

/**
 * A request that a provider's API has no way to say. Nothing was sent: another provider may take it, and where there
 * is none the client gets a 400 with this message.
 */
export interface UnsupportedRequest {
  /** A sentence in our own words: what cannot be carried, and what would be. Nothing of the content. */
  readonly unsupported: string;
  /** The field of the request that is at fault. */
  readonly param?: string;
}

/** What is particular to one route of a request. */
export interface UpstreamTarget {
  readonly upstreamModel: string;
  /** The caller's parameters for this provider, which `callerParameters` lists; then the registry's fixed fields. */
  readonly extraBody: Readonly<Record<string, unknown>>;
}

/** What is particular to one route of a chat request. */
export interface ChatTarget extends UpstreamTarget {
  /** Always sent, so that a hold is a true bound. */
  readonly maxOutputTokens: number;
  /**
   * That the model shall think, with an effort that the route offers or with its own; or `off` where it can do without.
   * Undefined leaves it to the provider.
   */
  readonly reasoning: { readonly effort: string | undefined } | 'off' | undefined;
  readonly dialect: RegistryProvider['request'];
}

/** What clients see instead of the provider's own ids and names. ASCII only. */
export interface AnswerIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The canonical model id. */
  readonly model: string;
}

/** The usage that a provider reported, corrected where its API counts reasoning outside the completion. */
export interface ReportedUsage {
  readonly usage: Usage;
  /** Details for the client, in the shape of OpenAI: those that the provider told. */
  readonly details: Pick<UsageAnswer, 'prompt_tokens_details' | 'completion_tokens_details'>;
}

export type AnswerReading<Answer> =
  | {
      readonly ok: true;
      readonly answer: Answer;
      readonly reported: ReportedUsage | undefined;
      /** Bytes of text, reasoning and tool arguments: what is counted where the provider reports no usage. */
      readonly producedBytes: number;
    }
  | { readonly ok: false; readonly outcome: AttemptOutcome };

/** Reads one whole answer, piece by piece as it comes. One reader serves one attempt. */
export interface AnswerReader<Answer> {
  /** Takes bytes. Never throws. */
  push(bytes: Buffer): void;
  /** The answer is over; what it was. */
  end(): AnswerReading<Answer>;
}

export type ChatAnswer = Omit<ChatCompletion, 'usage'>;
/** Vectors in the order of the inputs, each as its JSON text in the encoding that the request asked for. */
export interface EmbeddingsResult {
  readonly vectors: readonly (readonly Buffer[])[];
  /** How many numbers each vector has. */
  readonly dimensions: number;
}

export interface ChatStreamOptions {
  readonly identity: AnswerIdentity;
  /** Leaves the reasoning trace out. */
  readonly stripReasoning: boolean;
}

/**
 * Reads one provider stream and writes ours. Bytes in both directions are `latin1` strings, one character a byte.
 * One reader serves one attempt: nothing of a failed attempt can reach the next.
 */
export interface ChatStreamReader {
  /** Takes bytes; answers the frames to send, which may be none. Never throws. */
  push(bytes: string): string;
  /** The provider has closed the stream; answers what was still pending. */
  end(): string;
  /** True once content, reasoning, a tool call or a finish reason was seen: what counts as output. */
  readonly hasOutput: boolean;
  /** True once the answer is whole: a finish reason or the terminator was seen. */
  readonly isComplete: boolean;
  /** True once the provider has said that nothing more follows. */
  readonly isTerminated: boolean;
  /** Set once the stream itself reported or showed a failure. */
  readonly failure: AttemptOutcome | undefined;
  readonly reported: ReportedUsage | undefined;
  readonly producedBytes: number;
  /** How much had been produced when `reported` came: it does not speak of what followed. */
  readonly reportedAtBytes: number;
  /** Events seen so far, to bound what is kept back before output. */
  readonly events: number;
}

/** What is particular to one route of an image request. */
export interface ImageTarget {
  readonly upstreamModel: string;
  /** What makes the provider answer base64; undefined: `b64_json`; `none`: it always does and takes no such field. */
  readonly responseFormat: 'b64_json' | 'base64' | 'none' | undefined;
}

/** One image. Its base64 stays in the pieces in which it came: it is relayed, never held a second time. */
export interface ImageResult {
  readonly base64: readonly Buffer[];
  readonly mimeType: string;
}

/** Images of one provider API. Pure, as all of an adapter. */
export interface ImageAdapter {
  request(request: ImageRequest, target: ImageTarget): UpstreamRequest;
  openReader(): AnswerReader<ImageResult>;
}

/** What is particular to one route of a speech request. */
export interface SpeechTarget {
  readonly upstreamModel: string;
  /** The voice of a request that names none; undefined: none is sent. */
  readonly defaultVoice: string | undefined;
}

/** Speech of one provider API; its answer is raw audio and is not read. */
export interface SpeechAdapter {
  request(request: SpeechRequest, target: SpeechTarget): UpstreamRequest;
  /** Whether a 2xx answer of this `content-type` is the audio that was asked for. */
  isAudio(contentType: string): boolean;
  /** What the body of a 2xx answer means that is no audio. */
  classifyBody(body: Buffer): AttemptOutcome;
}

/** Translates between the OpenAI shape and one provider API. Pure: no sockets, no clock. */
export interface Adapter {
  /** The headers of every request, as name, value, name, value: what lets us in, and the version of the API. */
  headers(apiKey: string | undefined): readonly string[];
  /** The parameters of its own that its chat takes from callers. Every other one is refused. */
  readonly callerParameters: CallerParameters;
  chatRequest(request: ChatRequest, target: ChatTarget): UpstreamRequest | UnsupportedRequest;
  readChat(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer>;
  openChatStream(options: ChatStreamOptions): ChatStreamReader;
  embeddingsRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest | UnsupportedRequest;
  /** Reads one answer; `BufferedReader` serves an API whose answers are read in one go. */
  openEmbeddings(request: EmbeddingsRequest): AnswerReader<EmbeddingsResult>;
  /** Absent where the provider API makes none. */
  readonly images?: ImageAdapter;
  readonly speech?: SpeechAdapter;
  /** What a failed answer means: its status, and of its body only what tells a refusal from a bad request. */
  classifyFailure(status: number, body: Buffer): AttemptOutcome;
}
