import { createHmac } from 'node:crypto';
import type { Finding } from './finding.ts';

/**
 * The placeholders of one request, such as `EMAIL_x7k2p9_3fh1qm8z`. Their middle part is random for each conversation: a text
 * cannot contain one by chance or by design. In one conversation, a value has the same placeholder each time it is sent, so
 * that the provider's cache still hits. Between conversations nothing is equal.
 */
export class Placeholders {
  readonly #key: Buffer;
  readonly #namespace: string;
  readonly #values = new Map<string, string>();
  #pattern: RegExp | undefined;

  /**
   * @param secret - random bytes of this process.
   * @param conversation - what stays the same through a conversation, and differs from others.
   */
  constructor(secret: Buffer, conversation: string) {
    this.#key = createHmac('sha256', secret).update(conversation).digest();
    this.#namespace = this.#name('namespace', 6);
  }

  get size(): number {
    return this.#values.size;
  }

  /** Returns the placeholder of a value, from now on to be restored. */
  of({ kind, value }: Finding): string {
    for (let length = 8; ; length += 4) {
      const placeholder = `${kind}_${this.#namespace}_${this.#name(`value ${value}`, length)}`;
      const other = this.#values.get(placeholder);
      if (other !== undefined && other !== value) continue;
      this.#values.set(placeholder, value);
      this.#pattern = undefined;
      return placeholder;
    }
  }

  /** Puts the values back. `write` says how a value stands in the text. */
  restore(text: string, write: (value: string) => string = (value) => value): string {
    if (!text.includes(this.#namespace)) return text;
    // The longest first: one may begin with another.
    this.#pattern ??= new RegExp(
      [...this.#values.keys()].sort((one, other) => other.length - one.length).join('|'),
      'g',
    );
    return text.replace(this.#pattern, (placeholder) => write(this.#values.get(placeholder) ?? placeholder));
  }

  /** Returns how many characters at the end of a text could be the beginning of a placeholder. */
  openAtEnd(text: string): number {
    const candidate = /(?:[A-Z]{1,8}|[A-Z]{2,8}_[a-z0-9_]{0,40})$/.exec(text)?.[0];
    if (candidate === undefined) return 0;
    for (let length = candidate.length; length > 0; length -= 1) {
      const end = text.slice(text.length - length);
      for (const placeholder of this.#values.keys()) {
        if (placeholder.length > length && placeholder.startsWith(end)) return length;
      }
    }
    return 0;
  }

  #name(of: string, length: number): string {
    const digest = createHmac('sha256', this.#key).update(of).digest();
    return Array.from({ length }, (_, at) => letters[(digest[at] ?? 0) % letters.length]).join('');
  }
}

/** 32 letters and digits, without those that look like another. */
const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
