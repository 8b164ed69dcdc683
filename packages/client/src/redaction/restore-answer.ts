import { parseExact } from '@sotto/dialects';
import { asArray, asObject, asString, type JsonObject } from '@sotto/wire';
import { mapMembers } from './map-texts.ts';
import type { Placeholders } from './placeholders.ts';

/** Fields of a message or its delta, of the calls and of the details in it, that are text. */
const textFields: ReadonlySet<string> = new Set([
  ...['content', 'refusal', 'reasoning', 'reasoning_content', 'arguments', 'text', 'summary'],
]);

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
    if (message !== undefined) return { ...choice, message: this.#end(at, this.#restored(message, at)) };
    const delta = this.#restored(asObject(choice.delta) ?? {}, at);
    return { ...choice, delta: choice.finish_reason == null ? delta : this.#end(at, delta) };
  }

  /** Restores the texts in a part of an answer. Each is known by its path, in which calls and details have their index. */
  #restored(value: JsonObject | readonly unknown[], at: string): unknown {
    return mapMembers(value, (name, member) => {
      const path = `${at} ${Array.isArray(value) ? (asObject(member)?.index ?? name) : name}`;
      if (typeof member === 'string') return textFields.has(name) ? this.#text(path).push(member) : member;
      const inner = asArray(member) ?? asObject(member);
      return inner === undefined ? member : this.#restored(inner, path);
    });
  }

  /** Adds what still waits to the last part of a choice. */
  #end(at: string, message: unknown): JsonObject {
    const changed: Record<string, unknown> = { ...asObject(message) };
    for (const [name, text] of this.#texts) {
      const [choice, field = '', index, inner] = name.split(' ');
      const rest = choice === at ? text.end() : '';
      if (rest === '') continue;
      if (field === 'tool_calls') {
        const piece = { index: Number(index), function: { arguments: rest } };
        changed.tool_calls = [...(asArray(changed.tool_calls) ?? []), piece];
      } else if (inner === undefined) {
        changed[field] = `${asString(changed[field]) ?? ''}${rest}`;
      }
    }
    return changed;
  }

  #text(name: string): TextRestorer {
    const write = name.endsWith(' arguments') ? inJson : name.endsWith(' content') ? this.#ofContent : undefined;
    const text = this.#texts.get(name) ?? new TextRestorer(this.#placeholders, write);
    this.#texts.set(name, text);
    return text;
  }
}
