import { createHash } from 'node:crypto';
import type { ToolCallPiece } from './content.ts';

/**
 * Gives an id to each tool call of one answer that the provider sent without: clients name the call by it when they
 * answer, and so do we to the provider. Ours are derived from the completion's id, which they do not reveal.
 */
export class ToolCallIds {
  readonly #completionId: string;
  readonly #begun = new Set<number>();

  constructor(completionId: string) {
    this.#completionId = completionId;
  }

  /** The pieces, each call's first one with an id. */
  complete(pieces: readonly ToolCallPiece[]): ToolCallPiece[] {
    return pieces.map((piece) => {
      if (this.#begun.has(piece.index)) return piece;
      this.#begun.add(piece.index);
      return piece.id === undefined ? { ...piece, id: this.#made(piece.index), type: 'function' } : piece;
    });
  }

  #made(index: number): string {
    const digest = createHash('sha256').update(`${this.#completionId}/${index}`).digest('base64url');
    return `call_${digest.slice(0, 24)}`;
  }
}
