import type { ReasoningDetail } from '@sotto/wire';
import { asArray, asCount, asObject, asString, type JsonObject } from '../json.ts';
import { readDetails, textOfDetails } from '../translate/reasoning-details.ts';
import { argumentsText } from '../translate/tool-arguments.ts';

/** The text and the reasoning of a message or a delta; undefined if absent. */
export interface ReadContent {
  readonly content: string | undefined;
  readonly reasoning: string | undefined;
  readonly details: readonly ReasoningDetail[];
}

/**
 * Reads content and reasoning in every dialect of OpenAI's shape. Reasoning is in `reasoning_content` or `reasoning`
 * beside the content, or in `thinking` parts of a content list. Providers of OpenRouter's shape add `reasoning_details`.
 */
export function readContent(message: JsonObject): ReadContent {
  const details = readDetails(message.reasoning_details);
  const fields = [asString(message.reasoning_content), asString(message.reasoning), textOfDetails(details)];
  const beside = fields.find(Boolean) ?? fields.find((text) => text !== undefined);
  const parts = asArray(message.content);
  if (parts === undefined) return { content: asString(message.content), reasoning: beside, details };
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
  return { content, reasoning: beside ?? thinking, details };
}

/** Reads tool calls, or pieces of them. It drops empty ids and names, because some providers repeat them as `""`. */
export function readToolCalls(value: unknown): ReadToolCall[] {
  const pieces: ReadToolCall[] = [];
  for (const entry of asArray(value) ?? []) {
    const call = asObject(entry);
    if (call === undefined) continue;
    const called = asObject(call.function);
    const id = asString(call.id);
    const name = asString(called?.name);
    const args = argumentsText(called?.arguments);
    // Some servers end a text with an empty piece.
    if (!id && !name && !args) continue;
    pieces.push({
      index: asCount(call.index),
      ...(id ? { id } : {}),
      function: { ...(name ? { name } : {}), ...(args === undefined ? {} : { arguments: args }) },
    });
  }
  return pieces;
}

/** A piece of a tool call as the provider sent it. */
export interface ReadToolCall {
  /** Undefined if the provider did not send one. */
  readonly index: number | undefined;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

/** A piece of a tool call with the index of its call in the answer. */
export interface ToolCallPiece extends ReadToolCall {
  readonly index: number;
  readonly type?: 'function';
}
