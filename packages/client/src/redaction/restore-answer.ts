import { parseExact } from '@sotto/dialects';
import { asArray, asObject, asString, type JsonObject } from '@sotto/wire';
import type { Placeholders } from './placeholders.ts';

/** Fields of a message, or of its delta, that are text. */
const textFields = ['content', 'refusal', 'reasoning', 'reasoning_content'] as const;
const detailFields = ['text', 'summary'] as const;

/** How a value stands within JSON in a string. */
export const inJson = (value: string): string => JSON.stringify(value).slice(1, -1);

/** Restores one text that comes in pieces. What could be the beginning of a placeholder waits for the next piece. */
class TextRestorer {
  readonly #placeholders: Placeholders;
  readonly #write: ((value: string) => string) | undefined;
  #rest = '';

  constructor(placeholders: Placeholders, write: ((value: string) => string) | undefined) {
    this.#placeholders = placeholders;
    this.#write = write;
  }

  push(piece: string): string {
    const text = this.#placeholders.restore(this.#rest + piece, this.#write);
    const open = this.#placeholders.openAtEnd(text);
    this.#rest = text.slice(text.length - open);
    return text.slice(0, text.length - open);
  }

  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    return rest;
  }
}

/** Restores the values in an answer to one request: whole, or chunk by chunk. */
export class AnswerRestorer {
  readonly #placeholders: Placeholders;
  readonly #ofContent: ((value: string) => string) | undefined;
  readonly #texts = new Map<string, TextRestorer>();

  /** @param isJson - whether the request asked for text that is JSON. */
  constructor(placeholders: Placeholders, isJson: boolean) {
    this.#placeholders = placeholders;
    this.#ofContent = isJson ? inJson : undefined;
  }

  /** Restores the values of a whole answer, or of one event of a stream. Returns text that it cannot read as it is. */
  restore(text: string): string {
    const answer = asObject(parseExact(text));
    const choices = asArray(answer?.choices);
    if (answer === undefined || choices === undefined) return text;
    return JSON.stringify({ ...answer, choices: choices.map((choice) => this.#choice(asObject(choice) ?? {})) });
  }

  #choice(choice: JsonObject): JsonObject {
    const at = String(choice.index ?? 0);
    const message = asObject(choice.message);
    if (message !== undefined) return { ...choice, message: this.#end(at, this.#message(at, message)) };
    const delta = this.#message(at, asObject(choice.delta) ?? {});
    return { ...choice, delta: choice.finish_reason == null ? delta : this.#end(at, delta) };
  }

  #message(at: string, message: JsonObject): JsonObject {
    const changed: Record<string, unknown> = { ...message };
    for (const field of textFields) {
      const text = asString(message[field]);
      if (text !== undefined) changed[field] = this.#text(`${at} ${field}`).push(text);
    }
    const calls = asArray(message.tool_calls);
    if (calls !== undefined)
      changed.tool_calls = calls.map((call, place) => this.#call(at, asObject(call) ?? {}, place));
    const details = asArray(message.reasoning_details);
    if (details !== undefined) {
      changed.reasoning_details = details.map((detail, place) => this.#detail(at, asObject(detail) ?? {}, place));
    }
    return changed;
  }

  #call(at: string, call: JsonObject, place: number): JsonObject {
    const called = asObject(call.function);
    const text = asString(called?.arguments);
    if (text === undefined) return call;
    const restored = this.#text(`${at} call ${call.index ?? place}`).push(text);
    return { ...call, function: { ...called, arguments: restored } };
  }

  #detail(at: string, detail: JsonObject, place: number): JsonObject {
    const changed: Record<string, unknown> = { ...detail };
    for (const field of detailFields) {
      const text = asString(detail[field]);
      if (text !== undefined) changed[field] = this.#text(`${at} detail ${field} ${detail.index ?? place}`).push(text);
    }
    return changed;
  }

  /** Adds what still waits to the last part of a choice. */
  #end(at: string, message: JsonObject): JsonObject {
    const changed: Record<string, unknown> = { ...message };
    for (const [name, text] of this.#texts) {
      const [choice, field = '', index] = name.split(' ');
      const rest = choice === at ? text.end() : '';
      if (rest === '') continue;
      if (field === 'call') {
        const piece = { index: Number(index), function: { arguments: rest } };
        changed.tool_calls = [...(asArray(changed.tool_calls) ?? []), piece];
      } else if (field !== 'detail') {
        changed[field] = `${asString(changed[field]) ?? ''}${rest}`;
      }
    }
    return changed;
  }

  #text(name: string): TextRestorer {
    const write = name.includes(' call ') ? inJson : name.endsWith(' content') ? this.#ofContent : undefined;
    const text = this.#texts.get(name) ?? new TextRestorer(this.#placeholders, write);
    this.#texts.set(name, text);
    return text;
  }
}
