import { bytesPerToken } from '@sotto/money';
import { measurementMinimum } from './measurement.ts';

/** The most recent answers of a route that count. */
const window = 100;

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

  /** The median of the last 100 answers. Of fewer than 20, the average of common tokenizers on English text. */
  tokensPerByte(routeId: string): number {
    const { samples } = this.#recent.get(routeId) ?? { samples: [] };
    if (samples.length < measurementMinimum) return 1 / bytesPerToken;
    return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 1 / bytesPerToken;
  }
}
