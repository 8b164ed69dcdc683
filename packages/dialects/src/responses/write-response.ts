import { blocksOf } from '../answer-blocks.ts';
import { answerIdOf } from '../answer-id.ts';
import type { AnswerUsage } from '../chat-stream.ts';
import { asNumber, asObject, type JsonObject } from '../json.ts';
import type { ToolNames } from '../tool-names.ts';
import type { ChatAnswer } from '../translation.ts';
import { doneItem, itemId } from './write-item.ts';

/** The state of an answer so far. */
export interface ResponseState {
  readonly answerId: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly model: string;
  readonly output: readonly object[];
}

/** A response, of which only these fields are read here. */
export interface ResponseObject {
  readonly id: string;
  readonly output: readonly object[];
  readonly [field: string]: unknown;
}

/** How an answer stands. */
export interface ResponseStanding {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly usage?: AnswerUsage | undefined;
  readonly incomplete?: 'max_output_tokens' | 'content_filter' | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

/** Writes a whole chat answer as a response. */
export function writeResponse(answer: ChatAnswer, asked: JsonObject, names: ToolNames): ResponseObject {
  const { created: createdAt, model, usage } = answer;
  const choice = answer.choices[0];
  const answerId = answerIdOf(answer.id);
  const output = blocksOf(choice?.message).flatMap((block, index) => {
    const id = itemId(block, names, answerId, index);
    return doneItem(block, { id, names, finishReason: choice?.finish_reason }) ?? [];
  });
  return responseObject({ answerId, createdAt, model, output }, standingAtEnd(choice?.finish_reason, usage), asked);
}

/** How an answer stands that has ended and did not fail. */
export function standingAtEnd(
  finishReason: string | null | undefined,
  usage: AnswerUsage | undefined,
): ResponseStanding & { readonly status: 'completed' | 'incomplete' } {
  if (finishReason === 'length') return { status: 'incomplete', incomplete: 'max_output_tokens', usage };
  if (finishReason === 'content_filter') return { status: 'incomplete', incomplete: 'content_filter', usage };
  return { status: 'completed', usage };
}

/** Writes a response with every field that OpenAI's types require. It repeats the settings of the request. */
export function responseObject(state: ResponseState, standing: ResponseStanding, asked: JsonObject): ResponseObject {
  const reasoning = asObject(asked.reasoning);
  return {
    id: `resp_${state.answerId}`,
    object: 'response',
    access_programs: null,
    created_at: state.createdAt,
    status: standing.status,
    background: false,
    error: standing.error ?? null,
    incomplete_details: standing.incomplete === undefined ? null : { reason: standing.incomplete },
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    model: state.model,
    output: state.output,
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    previous_response_id: asked.previous_response_id ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    store: false,
    temperature: asked.temperature ?? null,
    text: asObject(asked.text) ?? { format: { type: 'text' } },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: asked.tools ?? [],
    top_p: asked.top_p ?? null,
    truncation: 'disabled',
    ...(standing.usage === undefined ? {} : { usage: responseUsage(standing.usage) }),
    metadata: asObject(asked.metadata) ?? {},
  };
}

/** Writes the counts of a chat answer. Both interfaces count cached tokens within the prompt's. */
export const responseUsage = (usage: AnswerUsage): object => ({
  input_tokens: usage.prompt_tokens,
  input_tokens_details: {
    cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cache_write_tokens: asNumber(usage.prompt_tokens_details?.cache_write_tokens) ?? 0,
  },
  output_tokens: usage.completion_tokens ?? 0,
  output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
  total_tokens: usage.total_tokens,
});
