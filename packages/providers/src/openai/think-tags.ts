const opening = '<think>';
const closing = '</think>';

/**
 * Removes a reasoning trace from the content of an answer, if the model writes it between `<think>` tags. Only white
 * space may precede the trace; a later tag belongs to the answer. Pass the pieces of the content in order: a tag may
 * span several.
 */
export class ThinkTags {
  #state: 'start' | 'inside' | 'after' | 'text' = 'start';
  /** Text that may be the beginning of a tag. */
  #held = '';

  /** Whether the rest of the content passes unchanged. */
  get isDone(): boolean {
    return this.#state === 'text';
  }

  /** Returns the visible part of the content so far. It may be empty. */
  take(piece: string): string {
    this.#held += piece;
    if (this.#state === 'start') {
      const text = this.#held.trimStart();
      if (text.length < opening.length && opening.startsWith(text)) return '';
      if (!text.startsWith(opening)) return this.#showAll();
      this.#state = 'inside';
      this.#held = text.slice(opening.length);
    }
    if (this.#state === 'inside') {
      const end = this.#held.indexOf(closing);
      if (end === -1) {
        this.#held = this.#held.slice(-(closing.length - 1));
        return '';
      }
      this.#state = 'after';
      this.#held = this.#held.slice(end + closing.length);
    }
    if (this.#state === 'after') this.#held = this.#held.trimStart();
    return this.#held === '' ? '' : this.#showAll();
  }

  /** Ends the content. Returns held text that did not become a tag. */
  end(): string {
    return this.#state === 'start' ? this.#showAll() : '';
  }

  #showAll(): string {
    const text = this.#held;
    this.#held = '';
    this.#state = 'text';
    return text;
  }
}

/** Returns the whole content without its trace. A trace may lack its opening tag if the prompt's template wrote the tag. */
export function withoutThinking(content: string): string {
  const end = content.indexOf(closing);
  const start = content.indexOf(opening);
  if (end !== -1 && (start === -1 || start > end)) return content.slice(end + closing.length).trimStart();
  const tags = new ThinkTags();
  return tags.take(content) + tags.end();
}
