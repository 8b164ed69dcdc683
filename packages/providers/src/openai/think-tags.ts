const opening = '<think>';
const closing = '</think>';

/**
 * Takes a reasoning trace out of the content of an answer, where a model writes it there between `<think>` tags. The
 * trace comes first, after white space at most; a tag later in the text belongs to the answer. Feed it the pieces of the
 * content in order: a tag may be cut over several.
 */
export class ThinkTags {
  #state: 'start' | 'inside' | 'after' | 'text' = 'start';
  /** Text that may be the beginning of a tag. */
  #held = '';

  /** Whether the rest of the content passes unchanged. */
  get isDone(): boolean {
    return this.#state === 'text';
  }

  /** The part of the content so far that is shown; it may be empty. */
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

  /** The content is over: text that could have become a tag, and did not. */
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

/** A whole content without its trace. A trace may lack its opening tag, where the prompt's template wrote it. */
export function withoutThinking(content: string): string {
  const end = content.indexOf(closing);
  const start = content.indexOf(opening);
  if (end !== -1 && (start === -1 || start > end)) return content.slice(end + closing.length).trimStart();
  const tags = new ThinkTags();
  return tags.take(content) + tags.end();
}
