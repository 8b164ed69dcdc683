import type { AttemptOutcome } from '@sotto/router';
import type { FinishReason, ReasoningDetail } from '@sotto/wire';
import { asArray, asObject, asString, type JsonObject } from '../json.ts';
import type { ReadToolCall, ToolCallPiece } from '../openai/content.ts';
import type { ToolCallIds } from '../openai/tool-call-ids.ts';
import { MalformedAnswer } from '../translate/malformed-answer.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { argumentsText } from '../translate/tool-arguments.ts';
import { classifyEmbedded } from './classify-failure.ts';

/** The content of one `GenerateContentResponse`: a whole answer or one event of a stream. */
export interface Candidate {
  content: string;
  reasoning: string;
  readonly details: ReasoningDetail[];
  /** Whole calls. */
  readonly toolCalls: ToolCallPiece[];
  /** Google's own name for it. */
  readonly finishReason: string | undefined;
}

/** Reads the first candidate. `ids` identifies the calls across all events of a stream. */
export function readCandidate(raw: JsonObject, ids: ToolCallIds): Candidate | undefined {
  const candidate = (asArray(raw.candidates) ?? []).map(asObject).find((entry) => (entry?.index ?? 0) === 0);
  if (candidate === undefined) return undefined;
  const said = asString(candidate.finishReason);
  const finishReason = said === 'FINISH_REASON_UNSPECIFIED' ? undefined : said;
  const read: Candidate = { content: '', reasoning: '', details: [], toolCalls: [], finishReason };
  const sign = (data: string | undefined, id?: string): void => {
    if (!data) return;
    read.details.push({ type: 'reasoning.encrypted', data, format: detailFormats.google, ...(id ? { id } : {}) });
  };
  for (const entry of asArray(asObject(candidate.content)?.parts) ?? []) {
    const part = asObject(entry) ?? {};
    const called = asObject(part.functionCall);
    const text = asString(part.text) ?? '';
    const signature = asString(part.thoughtSignature);
    const calls = called === undefined ? [] : ids.complete([callOf(called)]);
    read.toolCalls.push(...calls);
    if (called === undefined && part.thought === true) read.reasoning += text;
    else if (called === undefined) read.content += text;
    sign(signature, calls[0]?.id);
  }
  return read;
}

/** Google sends a call whole unless the request asks for parts. */
function callOf(called: JsonObject): ReadToolCall {
  const id = asString(called.id);
  const name = asString(called.name);
  if (!name || called.willContinue === true) throw new MalformedAnswer();
  return {
    index: undefined,
    ...(id ? { id } : {}),
    function: { name, arguments: argumentsText(called.args) || '{}' },
  };
}

/** Classifies a body without a candidate: an error, a refused prompt, or undefined. */
export function outcomeWithout(raw: JsonObject): AttemptOutcome | undefined {
  if (raw.error !== undefined) return classifyEmbedded(raw.error);
  return asObject(raw.promptFeedback)?.blockReason === undefined ? undefined : 'content_refused';
}

/** Finish reasons that report a failure of the model. */
export const candidateFailures: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]);
const endings: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['LANGUAGE', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter'],
  ['SPII', 'content_filter'],
]);

/** Returns OpenAI's name for `finishReason`. Undefined for an unknown one. */
export const finishReasonOf = (finishReason: string): FinishReason | undefined => endings.get(finishReason);
