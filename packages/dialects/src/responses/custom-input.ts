import { asObject, asString, parseJson } from '../json.ts';

/** Returns the input of a custom tool from the arguments of its function. Text that is not such JSON is the input itself. */
export function customInput(text: string): string {
  const parsed = asObject(parseJson(text));
  return parsed === undefined ? text : (asString(parsed.input) ?? text);
}

/** Returns what the arguments of a call that was cut off have of its input. */
export const cutInput = (text: string): string => new CustomInputReader().push(text);

const opening = /^\s*\{\s*"input"\s*:\s*"/;

/** Reads the input of a custom tool while its arguments arrive: the string behind `{"input":`, decoded. */
export class CustomInputReader {
  #text = '';
  /** The place behind what was decoded. 0 as long as the string has not begun. */
  #at = 0;
  #isClosed = false;
  #given = '';

  /** Takes the next piece of the arguments. Returns the piece of the input that it completes. */
  push(piece: string): string {
    this.#text += piece;
    if (this.#isClosed) return '';
    if (this.#at === 0) {
      const [head] = opening.exec(this.#text) ?? [];
      if (head === undefined) return '';
      this.#at = head.length;
    }
    return this.#give(this.#decodeOn());
  }

  /** Ends the arguments. Returns the whole input, and what `push` has not given of it yet. `isCut`: nothing more counts. */
  end(isCut: boolean): { readonly input: string; readonly rest: string } {
    const input = isCut ? this.#given : customInput(this.#text);
    return { input, rest: input.startsWith(this.#given) ? input.slice(this.#given.length) : '' };
  }

  #give(piece: string): string {
    this.#given += piece;
    return piece;
  }

  /** Decodes up to the end of the string, or up to an escape that is not whole yet. */
  #decodeOn(): string {
    const from = this.#at;
    let at = from;
    for (; at < this.#text.length; at += 1) {
      const char = this.#text[at];
      if (char === '"') {
        this.#isClosed = true;
        break;
      }
      if (char !== '\\') continue;
      const length = this.#text[at + 1] === 'u' ? 6 : 2;
      if (at + length > this.#text.length) break;
      at += length - 1;
    }
    this.#at = at;
    return asString(parseJson(`"${this.#text.slice(from, at)}"`)) ?? '';
  }
}
