import { asArray, asCount, asObject, asString, type JsonObject } from '../json.ts';

/** The text and the reasoning of a message or a delta; undefined where it has none. */
export interface ReadContent {
  readonly content: string | undefined;
  readonly reasoning: string | undefined;
}

/**
 * Reads content and reasoning in every dialect of the OpenAI shape: `reasoning_content` or `reasoning` beside the
 * content, or a content list with `thinking` parts.
 */
export function readContent(message: JsonObject): ReadContent {
  const beside = asString(message.reasoning_content) ?? asString(message.reasoning);
  const parts = asArray(message.content);
  if (parts === undefined) return { content: asString(message.content), reasoning: beside };
  let content: string | undefined;
  let thinking: string | undefined;
  for (const part of parts) {
    const object = asObject(part);
    if (object === undefined) continue;
    if (object.type === 'thinking') {
      for (const inner of asArray(object.thinking) ?? [])
        thinking = (thinking ?? '') + (asString(asObject(inner)?.text) ?? '');
    } else {
      const text = asString(object.text);
      if (text !== undefined) content = (content ?? '') + text;
    }
  }
  return { content, reasoning: beside ?? thinking };
}

/** A tool call, or a piece of one, with empty ids and names left out: some providers repeat them as `""`. */
export function readToolCalls(value: unknown): ReadToolCall[] {
  const pieces: ReadToolCall[] = [];
  for (const entry of asArray(value) ?? []) {
    const call = asObject(entry);
    if (call === undefined) continue;
    const called = asObject(call.function);
    const id = asString(call.id);
    const name = asString(called?.name);
    const args = asString(called?.arguments);
    pieces.push({
      index: asCount(call.index),
      ...(id ? { id } : {}),
      ...(call.type === 'function' || id ? { type: 'function' as const } : {}),
      function: { ...(name ? { name } : {}), ...(args === undefined ? {} : { arguments: args }) },
    });
  }
  return pieces;
}

/** A piece of a tool call as it was read. */
export interface ReadToolCall {
  /** Undefined where the provider did not say. */
  readonly index: number | undefined;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments?: string };
}

/** A piece of a tool call whose place among the calls of its answer is known. */
export interface ToolCallPiece extends ReadToolCall {
  readonly index: number;
}
