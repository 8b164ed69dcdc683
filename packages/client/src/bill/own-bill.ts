import { type Nusd, nusdToUsd } from '@sotto/money';
import type { Charge } from './read-bill.ts';

/** A charge of a bill that this client writes. It has the fields of a row of `GET /v1/usage`, without the names of keys. */
interface OwnRow {
  readonly id: string;
  readonly at: string;
  /** What the run had cost after this charge, in USD. */
  readonly total_cost: number;
  /** The broker's receipt. Absent if there is none yet. */
  receipt?: unknown;
}

/** The bill of one run, from the client's own answers. `sotto verify-bill` reads it. */
export class OwnBill {
  readonly #rows: OwnRow[] = [];
  #total = 0n;

  get total(): Nusd {
    return this.#total;
  }

  get charges(): number {
    return this.#rows.length;
  }

  get receipts(): number {
    return this.#rows.filter(({ receipt }) => receipt !== undefined).length;
  }

  /** @param at - Unix milliseconds. */
  add(charge: Charge, at: number): OwnRow {
    this.#total += charge.chargeNusd;
    const row = {
      ...{ id: charge.id, at: new Date(at).toISOString(), operation: charge.operation },
      ...{ model: charge.model, provider: charge.provider ?? null, privacy_class: charge.privacyClass ?? null },
      ...{ prompt_tokens: charge.promptTokens, cached_tokens: charge.cachedTokens },
      ...(charge.cacheWriteTokens === undefined ? {} : { cache_write_tokens: charge.cacheWriteTokens }),
      ...{ completion_tokens: charge.completionTokens, reasoning_tokens: charge.reasoningTokens },
      ...{ cost: nusdToUsd(charge.chargeNusd), estimated: charge.estimated, total_cost: nusdToUsd(this.#total) },
    };
    this.#rows.push(row);
    return row;
  }

  get text(): string {
    return `${JSON.stringify({ object: 'list', data: this.#rows, next_cursor: null }, undefined, 2)}\n`;
  }
}
