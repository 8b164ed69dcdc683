import type { AttemptOutcome } from '@sotto/router';
import type { ChatChunk, FinishReason, ReasoningDetail } from '@sotto/wire';
import type { ChatStreamOptions } from '../adapter.ts';
import { asArray, asObject, asString, type JsonObject } from '../json.ts';
import { detailsField, reasoningFields, shownDetails } from '../translate/reasoning-details.ts';
import { embeddedFailure } from './classify-failure.ts';
import { type ReadToolCall, readContent, readToolCalls, type ToolCallPiece } from './content.ts';

/** The fields of a provider's stream event that this service uses. */
export interface ProviderChunk {
  /** Set if the event reports a failure. */
  readonly failure: AttemptOutcome | undefined;
  readonly content: string | undefined;
  readonly reasoning: string | undefined;
  readonly refusal: string | undefined;
  readonly details: readonly ReasoningDetail[];
  readonly toolCalls: readonly ReadToolCall[];
  readonly finishReason: FinishReason | typeof failedFinish | undefined;
  /** Whether the event has a first choice. Events with only usage do not. */
  readonly hasChoice: boolean;
  /** The provider's usage object, if the event has one. */
  readonly usage: JsonObject | undefined;
}

export function readChunk(raw: JsonObject): ProviderChunk {
  const choice = (asArray(raw.choices) ?? []).map(asObject).find((entry) => (entry?.index ?? 0) === 0);
  const delta = asObject(choice?.delta) ?? {};
  const { content, reasoning, details } = readContent(delta);
  return {
    failure: embeddedFailure(raw),
    content,
    reasoning,
    details,
    refusal: asString(delta.refusal),
    toolCalls: readToolCalls(delta.tool_calls),
    finishReason: readFinishReason(choice?.finish_reason),
    hasChoice: choice !== undefined,
    usage: usageIn(raw, choice),
  };
}

/** Most providers report usage beside the choices. Groq uses its own field, and Moonshot the last choice. */
function usageIn(raw: JsonObject, choice: JsonObject | undefined): JsonObject | undefined {
  return asObject(raw.usage ?? asObject(raw.x_groq)?.usage ?? choice?.usage);
}

/** Whether an event is output. Text of another provider must not follow output. */
export const isOutput = (chunk: ProviderChunk): boolean =>
  Boolean(chunk.content || chunk.reasoning || chunk.refusal) || chunk.details.length > 0 || chunk.toolCalls.length > 0;

/** An event without a failure, whose tool calls have their indexes and ids. */
export interface CompleteChunk extends ProviderChunk {
  readonly toolCalls: readonly ToolCallPiece[];
  readonly finishReason: FinishReason | undefined;
}

/** An event that carries nothing. */
export const withoutOutput = {
  failure: undefined,
  content: undefined,
  reasoning: undefined,
  refusal: undefined,
  details: [],
  toolCalls: [],
  finishReason: undefined,
  hasChoice: true,
  usage: undefined,
} as const satisfies CompleteChunk;

/**
 * Writes the event for clients, under our own id and model. Only the first event of an answer has the role, because some
 * clients join what later ones repeat.
 */
export function writeChunk(
  chunk: CompleteChunk,
  { identity, stripReasoning }: ChatStreamOptions,
  isFirst: boolean,
): ChatChunk {
  return {
    id: identity.id,
    object: 'chat.completion.chunk',
    created: identity.created,
    model: identity.model,
    system_fingerprint: '',
    choices: [
      {
        index: 0,
        delta: {
          ...(isFirst ? { role: 'assistant' as const } : {}),
          ...(chunk.content === undefined ? {} : { content: chunk.content }),
          ...reasoningFields(stripReasoning ? undefined : chunk.reasoning),
          ...detailsField(shownDetails(chunk.details, stripReasoning)),
          ...(chunk.refusal === undefined ? {} : { refusal: chunk.refusal }),
          ...(chunk.toolCalls.length === 0 ? {} : { tool_calls: [...chunk.toolCalls] }),
        },
        finish_reason: chunk.finishReason ?? null,
      },
    ],
  };
}

/** Marks an answer that the provider could not finish, even if it closed the stream properly. */
export const failedFinish = 'failed';

/** Providers' names for finish reasons, in lower case. */
const known: ReadonlyMap<string, FinishReason | typeof failedFinish> = new Map([
  ['stop', 'stop'],
  ['stopped', 'stop'],
  ['stop_sequence', 'stop'],
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['end_turn', 'stop'],
  ['complete', 'stop'],
  ['completed', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['max_tokens', 'length'],
  ['max_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['refusal', 'content_filter'],
  ['error', failedFinish],
  ['abort', failedFinish],
  ['network_error', failedFinish],
  ['insufficient_system_resource', failedFinish],
]);

/**
 * Returns OpenAI's name for a provider's `finish_reason`. Undefined for none and for an unknown one, such as the text `null` of
 * servers that send it with every event: it does not say that the answer has ended.
 */
export const readFinishReason = (said: unknown): FinishReason | typeof failedFinish | undefined =>
  known.get(asString(said)?.toLowerCase() ?? '');
