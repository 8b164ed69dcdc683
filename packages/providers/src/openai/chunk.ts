import type { ChatChunk, FinishReason } from '@sotto/wire';
import type { AnswerIdentity, ReportedUsage } from '../adapter.ts';
import { asArray, asObject, asString, type JsonObject } from '../json.ts';
import { embeddedError } from './classify-failure.ts';
import { type ReadToolCall, readContent, readToolCalls, type ToolCallPiece } from './content.ts';
import { type failedFinish, readFinishReason } from './finish-reason.ts';
import { readUsage } from './usage.ts';

/** One event of a provider's stream, as far as we need it. */
export interface ProviderChunk {
  /** The `error` member, where the event carries one. */
  readonly error: unknown;
  readonly role: boolean;
  readonly content: string | undefined;
  readonly reasoning: string | undefined;
  readonly refusal: string | undefined;
  readonly toolCalls: readonly ReadToolCall[];
  readonly finishReason: FinishReason | typeof failedFinish | undefined;
  /** Whether there was a first choice at all; events with usage alone have none. */
  readonly hasChoice: boolean;
  readonly reported: ReportedUsage | undefined;
}

export function readChunk(raw: JsonObject): ProviderChunk {
  const choice = (asArray(raw.choices) ?? []).map(asObject).find((entry) => (entry?.index ?? 0) === 0);
  const delta = asObject(choice?.delta) ?? {};
  const { content, reasoning } = readContent(delta);
  const finish = asString(choice?.finish_reason);
  return {
    error: embeddedError(raw),
    role: delta.role === 'assistant',
    content,
    reasoning,
    refusal: asString(delta.refusal),
    toolCalls: readToolCalls(delta.tool_calls),
    finishReason: finish ? readFinishReason(finish) : undefined,
    hasChoice: choice !== undefined,
    reported: reportedIn(raw, choice),
  };
}

/** Most providers report usage beside the choices, Groq in a field of its own, Moonshot in the choice that ends. */
function reportedIn(raw: JsonObject, choice: JsonObject | undefined): ReportedUsage | undefined {
  const usage = raw.usage ?? asObject(raw.x_groq)?.usage ?? choice?.usage;
  return usage == null ? undefined : readUsage(usage);
}

/** Whether an event is output: anything that must not be followed by another provider's text. */
export const isOutput = (chunk: ProviderChunk): boolean =>
  Boolean(chunk.content || chunk.reasoning || chunk.refusal || chunk.finishReason) || chunk.toolCalls.length > 0;

/** An event without a failure, whose tool calls are told apart. */
export interface CompleteChunk extends ProviderChunk {
  readonly toolCalls: readonly ToolCallPiece[];
  readonly finishReason: FinishReason | undefined;
}

/** The event as clients get it, under our own id and model. */
export function writeChunk(chunk: CompleteChunk, identity: AnswerIdentity, stripReasoning: boolean): ChatChunk {
  return {
    id: identity.id,
    object: 'chat.completion.chunk',
    created: identity.created,
    model: identity.model,
    choices: [
      {
        index: 0,
        delta: {
          ...(chunk.role ? { role: 'assistant' as const } : {}),
          ...(chunk.content === undefined ? {} : { content: chunk.content }),
          ...(chunk.reasoning === undefined || stripReasoning ? {} : { reasoning: chunk.reasoning }),
          ...(chunk.refusal === undefined ? {} : { refusal: chunk.refusal }),
          ...(chunk.toolCalls.length === 0 ? {} : { tool_calls: [...chunk.toolCalls] }),
        },
        finish_reason: chunk.finishReason ?? null,
      },
    ],
  };
}
