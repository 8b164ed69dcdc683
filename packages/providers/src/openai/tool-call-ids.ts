import { createHash } from 'node:crypto';
import type { ReadToolCall, ToolCallPiece } from './content.ts';

/** A call that has begun. */
interface BegunCall {
  readonly index: number;
  /** As the provider said it. */
  readonly id: string | undefined;
}

/**
 * Tells the tool calls of one answer apart and gives each an index and an id. Clients name the call by its id when they
 * answer, and so do we to the provider; one that the provider sent without is derived from the completion's id, which
 * it does not reveal. Some providers send calls without an index, and some send all of them with the same.
 */
export class ToolCallIds {
  readonly #completionId: string;
  /** By the index that the provider said; those without one are under the index that we gave. */
  readonly #begun = new Map<number, BegunCall>();
  #next = 0;
  #last: BegunCall | undefined;

  constructor(completionId: string) {
    this.#completionId = completionId;
  }

  /** The pieces, each with its call's index, and each call's first one with an id. */
  complete(pieces: readonly ReadToolCall[]): ToolCallPiece[] {
    return pieces.map((piece) => {
      const known = this.#callOf(piece);
      const call = known ?? this.#begin(piece);
      this.#last = call;
      const { index } = call;
      if (known !== undefined || piece.id !== undefined) return { ...piece, index };
      return { ...piece, index, id: this.#made(index), type: 'function' };
    });
  }

  /** The call that a piece goes on with; undefined where it begins one. */
  #callOf({ index, id, function: { name } }: ReadToolCall): BegunCall | undefined {
    if (index !== undefined) {
      const call = this.#begun.get(index);
      const isOther = call?.id !== undefined && id !== undefined && id !== call.id && name !== undefined;
      return isOther ? this.#byId(id) : call;
    }
    if (id !== undefined) return this.#byId(id);
    return name === undefined ? this.#last : undefined;
  }

  #byId(id: string): BegunCall | undefined {
    for (const call of this.#begun.values()) if (call.id === id) return call;
    return undefined;
  }

  #begin({ index, id }: ReadToolCall): BegunCall {
    const free = index !== undefined && !this.#begun.has(index) ? index : this.#next;
    const call = { index: free, id };
    this.#begun.set(free, call);
    // A provider that goes on without ids means the call that it began last under this index.
    if (index !== undefined && index !== free) this.#begun.set(index, call);
    this.#next = Math.max(this.#next, free + 1);
    return call;
  }

  #made(index: number): string {
    const digest = createHash('sha256').update(`${this.#completionId}/${index}`).digest('base64url');
    return `call_${digest.slice(0, 24)}`;
  }
}
