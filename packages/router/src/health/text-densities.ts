import { bytesPerToken } from '@sotto/money';
import { measurementMinimum } from './measurement.ts';

/** The most recent answers of a route that count. */
const window = 100;
const average = 1 / bytesPerToken;

/**
 * Output tokens per byte of text that each route's answers had. They depend on the model's tokenizer and on the
 * languages of its users. They would tell something about the text of a lone answer, so brokers do not share them.
 */
export class TextDensities {
  readonly #recent = new Map<string, { readonly samples: number[]; next: number }>();

  add(routeId: string, tokensPerByte: number): void {
    const recent = this.#recent.get(routeId) ?? { samples: [], next: 0 };
    this.#recent.set(routeId, recent);
    recent.samples[recent.next] = tokensPerByte;
    recent.next = (recent.next + 1) % window;
  }

  /**
   * The median of the last 100 answers, at least the average of common tokenizers on English text. Of fewer than 20 answers, this
   * average. Otherwise a caller could ask for many answers with few tokens, such as blanks, and then pay less for others.
   */
  tokensPerByte(routeId: string): number {
    const { samples } = this.#recent.get(routeId) ?? { samples: [] };
    if (samples.length < measurementMinimum) return average;
    return Math.max(average, samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? average);
  }
}
