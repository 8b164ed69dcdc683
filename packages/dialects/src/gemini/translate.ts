import { estimateTokens } from '../estimate-tokens.ts';
import { asObject } from '../json.ts';
import { requestObject } from '../request-fields.ts';
import type { Models, Translation } from '../translation.ts';
import { field } from './fields.ts';
import { readContents } from './read-contents.ts';
import { type GeminiCall, readGeminiRequest } from './read-request.ts';
import { readTools } from './read-tools.ts';
import { writeGenerated } from './write-content.ts';
import { GeminiStream } from './write-stream.ts';

/** Translates a request of `generateContent` or `streamGenerateContent`, and its answer. Throws `invalid_request`. */
export function translateGemini(value: unknown, call: GeminiCall, models: Models): Translation {
  const { body, notes, ...options } = readGeminiRequest(value, call, models);
  return {
    body,
    notes,
    streamType: call.sse ? undefined : 'application/json',
    whole: (answer) => writeGenerated(answer, options),
    stream: () => new GeminiStream({ ...options, requested: body.model, sse: call.sse }),
  };
}

/** Estimates the tokens of a `countTokens` on this machine, as `estimateTokens` does. */
export function countGeminiTokens(value: unknown): { readonly totalTokens: number } {
  const request = requestObject(value);
  const whole = asObject(field(request, 'generateContentRequest')) ?? request;
  return { totalTokens: estimateTokens(readContents(whole), readTools(whole).tools) };
}

/** The methods of a model, the model and the stream's form that a path names. Undefined for a path of another API. */
export function geminiCall(path: string): GeminiCall | undefined {
  const [, name, method] = /^\/v1(?:beta|alpha)?\/models\/([^?]+):(\w+)(?:\?|$)/.exec(path) ?? [];
  if (name === undefined || method === undefined) return undefined;
  return {
    model: decodedName(name),
    method,
    sse: new URLSearchParams(path.replace(/^[^?]*\??/, '')).get('alt') === 'sse',
  };
}

/** A name in a path, without its escapes. Returns a name that is malformed as it is. */
export function decodedName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
