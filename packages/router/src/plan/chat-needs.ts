import {
  allowance,
  type ChatRequest,
  type EmbeddingsRequest,
  expandedSchemaBytes,
  hasReferences,
  reasoningSelection,
  templateTokensAtMost,
} from '@sotto/wire';
import { optionalParametersOf } from '../parameters/used-parameters.ts';
import type { RequestSize } from './attempt-limits.ts';
import { type Needs, noNeeds, reasoningNeeds } from './needs.ts';

const imageTokensLikely = 1_000;

/** The output ceiling of a chat request. `conflict` if its two aliases differ. */
export function requestedOutputTokens(request: ChatRequest): number | undefined | 'conflict' {
  const a = request.max_tokens ?? undefined;
  const b = request.max_completion_tokens ?? undefined;
  if (a !== undefined && b !== undefined && a !== b) return 'conflict';
  return a ?? b;
}

interface Measured {
  readonly bytes: number;
  /**
   * Reasoning of earlier answers. Most models do not receive it or ignore it, so it counts only for the upper bound.
   */
  readonly reasoningBytes: number;
  readonly images: number;
}

/**
 * The longest JSON text, in bytes, of all tools together and of a response format. Models cannot use more. A reader
 * that expands references would spend seconds on it.
 */
export const maxSchemaBytes = 1024 * 1024;

/** A field with schemas that is longer than `maxSchemaBytes`. */
export interface OversizedSchemas {
  readonly param: 'tools' | 'response_format';
  readonly bytes: number;
}

/**
 * Measures a chat request and its needs of a route. Reads lengths and kinds and keeps no content. If `oversized` is
 * set, refuse the request: its schemas were not measured. Throws if reasoning fields contradict each other.
 */
export function measureChat(
  request: ChatRequest,
  maxOutputTokens: number | undefined,
): { readonly needs: Needs; readonly size: RequestSize; readonly oversized: OversizedSchemas | undefined } {
  const { bytes, reasoningBytes, images } = measureMessages(request.messages);
  const tools = request.tools ?? [];
  const format = request.response_format;
  const toolSizes = tools.length === 0 ? noSchemas : measureSchemas('tools', tools, parametersOf(tools));
  const formatSizes =
    format?.type === 'json_schema' ? measureSchemas('response_format', format, [format.json_schema.schema]) : noSchemas;
  const allBytes = bytes + toolSizes.bytes + formatSizes.bytes;
  const messages = request.messages.length;
  return {
    needs: {
      modelType: 'text',
      tools: tools.length > 0 && request.tool_choice !== 'none',
      vision: images > 0,
      structuredOutput: format?.type === 'json_schema',
      optionalParameters: optionalParametersOf(request),
      ...reasoningNeeds(reasoningSelection(request)),
      promptTokens: Math.ceil(allBytes / 4) + messages * 4 + images * imageTokensLikely,
      maxOutputTokens,
      encrypted: false,
    },
    size: {
      promptTokensAtMost:
        allBytes +
        toolSizes.writtenOutBytes +
        formatSizes.writtenOutBytes +
        reasoningBytes +
        templateTokensAtMost({
          ...{ messages, tools: tools.length, images },
          hasFormat: format != null && format.type !== 'text',
        }),
      promptTokensLikely: Math.ceil(allBytes / 3) + messages * 8 + images * imageTokensLikely,
      maxOutputTokens,
    },
    oversized: toolSizes.oversized ?? formatSizes.oversized,
  };
}

interface MeasuredSchemas {
  readonly bytes: number;
  /** The size with all references expanded. 0 without references. */
  readonly writtenOutBytes: number;
  readonly oversized: OversizedSchemas | undefined;
}

const noSchemas: MeasuredSchemas = { bytes: 0, writtenOutBytes: 0, oversized: undefined };

/** Measures a field by its JSON text. For the upper bound, schemas with references count a second time, expanded. */
function measureSchemas(
  param: OversizedSchemas['param'],
  field: object,
  schemas: readonly (object | undefined)[],
): MeasuredSchemas {
  const text = JSON.stringify(field);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxSchemaBytes) return { ...noSchemas, oversized: { param, bytes } };
  if (!hasReferences(text)) return { ...noSchemas, bytes };
  const writtenOutBytes = schemas.reduce((sum, schema) => sum + expandedSchemaBytes(schema), 0);
  return { ...noSchemas, bytes, writtenOutBytes };
}

const parametersOf = (tools: NonNullable<ChatRequest['tools']>) =>
  tools.map(({ function: { parameters } }) => parameters);

function measureMessages(messages: ChatRequest['messages']): Measured {
  let bytes = 0;
  let reasoningBytes = 0;
  let images = 0;
  for (const message of messages) {
    const { content } = message;
    if (typeof content === 'string') bytes += Buffer.byteLength(content);
    else {
      for (const part of content ?? []) {
        if (part.type === 'text') bytes += Buffer.byteLength(part.text);
        else if (part.type === 'refusal') bytes += Buffer.byteLength(part.refusal);
        else images += 1;
      }
    }
    if ('name' in message && message.name) bytes += Buffer.byteLength(message.name);
    if (message.role === 'tool') {
      bytes += Buffer.byteLength(message.tool_call_id);
      // For some providers, the images of a tool result go into a separate message.
      if (typeof content !== 'string') bytes += allowance.message * 4;
    }
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) {
        bytes += Buffer.byteLength(call.id) + Buffer.byteLength(call.function.name + call.function.arguments);
        bytes += allowance.message;
      }
      if (message.refusal) bytes += Buffer.byteLength(message.refusal);
      reasoningBytes += measureReasoning(message);
    }
  }
  return { bytes, reasoningBytes, images };
}

/** Models that need reasoning get it in one of its two forms. Both count, to be safe. */
function measureReasoning({ reasoning, reasoning_content, reasoning_details }: AssistantMessage): number {
  // Both names hold the same text, and one of them is sent.
  let bytes = Buffer.byteLength(reasoning ?? reasoning_content ?? '');
  for (const detail of reasoning_details ?? []) {
    if (detail.type === 'reasoning.text') bytes += Buffer.byteLength((detail.text ?? '') + (detail.signature ?? ''));
    else bytes += Buffer.byteLength(detail.type === 'reasoning.encrypted' ? detail.data : detail.summary);
    bytes += allowance.message;
  }
  return bytes;
}

type AssistantMessage = Extract<ChatRequest['messages'][number], { role: 'assistant' }>;

/** Measures an embeddings request. Its output is vectors, which cost no tokens. */
export function measureEmbeddings(request: EmbeddingsRequest): { readonly needs: Needs; readonly size: RequestSize } {
  const inputs = typeof request.input === 'string' ? [request.input] : request.input;
  let atMost = allowance.request;
  let likely = 0;
  let longest = 0;
  const add = (most: number, probable: number): void => {
    atMost += most + allowance.message;
    likely += probable;
    longest = Math.max(longest, probable);
  };
  if (typeof inputs[0] === 'number') add(inputs.length, inputs.length);
  else {
    for (const input of inputs) {
      if (typeof input === 'string') add(Buffer.byteLength(input), Math.ceil(Buffer.byteLength(input) / 4));
      else if (typeof input === 'object') add(input.length, input.length);
    }
  }
  return {
    // The context window applies to each input separately.
    needs: { ...noNeeds('embedding'), promptTokens: longest },
    size: { promptTokensAtMost: atMost, promptTokensLikely: likely, maxOutputTokens: undefined },
  };
}
