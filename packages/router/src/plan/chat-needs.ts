import { type ChatRequest, type EmbeddingsRequest, reasoningSelection } from '@sotto/wire';
import { wishesOf } from '../parameters/used-parameters.ts';
import type { RequestSize } from './attempt-limits.ts';
import { type Needs, noNeeds, reasoningNeeds } from './needs.ts';
import { expandedSchemaBytes } from './schema-size.ts';

/** What templates add around content, in tokens: generous, because a hold must be a true bound. */
export const allowance = { request: 64, message: 16, tool: 512, toolUse: 1024, format: 512, image: 49_152 } as const;
const imageTokensLikely = 1_000;

/** The output ceiling of a chat request; `conflict` where its two aliases differ (interface 2.3). */
export function requestedOutputTokens(request: ChatRequest): number | undefined | 'conflict' {
  const a = request.max_tokens ?? undefined;
  const b = request.max_completion_tokens ?? undefined;
  if (a !== undefined && b !== undefined && a !== b) return 'conflict';
  return a ?? b;
}

interface Measured {
  readonly bytes: number;
  /** Of earlier answers' reasoning. Most models are not sent it or forget it: it counts for the bound alone. */
  readonly reasoningBytes: number;
  readonly images: number;
}

/** The sizes of a chat request, and what it needs of a route. Reads lengths and kinds, keeps nothing of the content. */
export function measureChat(
  request: ChatRequest,
  maxOutputTokens: number | undefined,
): { readonly needs: Needs; readonly size: RequestSize } {
  const { bytes, reasoningBytes, images } = measureMessages(request.messages);
  const tools = request.tools ?? [];
  const toolBytes = tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools));
  const format = request.response_format;
  const formatBytes = format?.type === 'json_schema' ? Buffer.byteLength(JSON.stringify(format)) : 0;
  // Beside their text, for the bound: some providers write out what schemas refer to.
  const schemas = [
    format?.type === 'json_schema' ? format.json_schema.schema : undefined,
    ...tools.map(({ function: { parameters } }) => parameters),
  ];
  const expandedBytes = schemas.reduce<number>(
    (sum, schema) => sum + (schema == null ? 0 : expandedSchemaBytes(schema)),
    0,
  );
  const allBytes = bytes + toolBytes + formatBytes;
  const messages = request.messages.length;
  const selection = reasoningSelection(request);
  const reasoning = selection === 'conflict' ? {} : selection;
  return {
    needs: {
      modelType: 'text',
      tools: tools.length > 0 && request.tool_choice !== 'none',
      vision: images > 0,
      structuredOutput: format?.type === 'json_schema',
      wishes: wishesOf(request),
      ...reasoningNeeds(reasoning),
      promptTokens: Math.ceil(allBytes / 4) + messages * 4 + images * imageTokensLikely,
      maxOutputTokens,
      encrypted: false,
    },
    size: {
      promptTokensAtMost:
        bytes +
        Math.max(toolBytes + formatBytes, expandedBytes) +
        reasoningBytes +
        allowance.request +
        messages * allowance.message +
        tools.length * allowance.tool +
        (tools.length > 0 ? allowance.toolUse : 0) +
        (format == null || format.type === 'text' ? 0 : allowance.format) +
        images * allowance.image,
      promptTokensLikely: Math.ceil(allBytes / 3) + messages * 8 + images * imageTokensLikely,
      maxOutputTokens,
    },
  };
}

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
    if (message.role === 'tool') bytes += Buffer.byteLength(message.tool_call_id);
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

/** Reasoning goes back to models that need it, in one of its two forms: counted as if both went. */
function measureReasoning({ reasoning, reasoning_content, reasoning_details }: AssistantMessage): number {
  let bytes = Buffer.byteLength(reasoning ?? '') + Buffer.byteLength(reasoning_content ?? '');
  for (const detail of reasoning_details ?? []) {
    if (detail.type === 'reasoning.text') bytes += Buffer.byteLength((detail.text ?? '') + (detail.signature ?? ''));
    else bytes += Buffer.byteLength(detail.type === 'reasoning.encrypted' ? detail.data : detail.summary);
    bytes += allowance.message;
  }
  return bytes;
}

type AssistantMessage = Extract<ChatRequest['messages'][number], { role: 'assistant' }>;

/** The sizes of an embeddings request. Its output are vectors, which cost no tokens. */
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
    // Each input meets the context window on its own.
    needs: { ...noNeeds('embedding'), promptTokens: longest },
    size: { promptTokensAtMost: atMost, promptTokensLikely: likely, maxOutputTokens: undefined },
  };
}
