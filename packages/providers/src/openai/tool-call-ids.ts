import { createHash } from 'node:crypto';
import type { ReadToolCall, ToolCallPiece } from './content.ts';

/** A call that has begun. */
interface BegunCall {
  /** Its place among the calls of the answer, from 0. */
  readonly index: number;
  /** The provider's id for it. */
  readonly id: string | undefined;
  hasArguments: boolean;
}

/**
 * Tells the tool calls of one answer apart and gives each an index and an id. Clients expect indexes from 0 without
 * gaps; some providers begin at 1, send no index, or send the same one for all calls. Clients name a call by its id when
 * they answer, and we name it so to the provider. A call without an id gets one that is derived from the completion's
 * id, which it does not reveal.
 */
export class ToolCallIds {
  readonly #completionId: string;
  readonly #calls: BegunCall[] = [];
  /** The call that began last under each index of the provider's. */
  readonly #byIndex = new Map<number, BegunCall>();
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
      call.hasArguments ||= Boolean(piece.function.arguments);
      const { index } = call;
      if (known !== undefined || piece.id !== undefined) return { ...piece, index };
      return { ...piece, index, id: this.#made(index), type: 'function' };
    });
  }

  /** The arguments of calls that had none: an empty object, because clients parse them. */
  close(): ToolCallPiece[] {
    return this.#calls.flatMap((call) => {
      if (call.hasArguments) return [];
      call.hasArguments = true;
      return [{ index: call.index, function: { arguments: '{}' } }];
    });
  }

  /** The call that a piece continues; undefined where it begins one. */
  #callOf({ index, id, function: { name } }: ReadToolCall): BegunCall | undefined {
    if (index !== undefined) {
      const call = this.#byIndex.get(index);
      const isOther = call?.id !== undefined && id !== undefined && id !== call.id && name !== undefined;
      return isOther ? this.#byId(id) : call;
    }
    if (id !== undefined) return this.#byId(id);
    return name === undefined ? this.#last : undefined;
  }

  #byId(id: string): BegunCall | undefined {
    return this.#calls.find((call) => call.id === id);
  }

  #begin({ index, id }: ReadToolCall): BegunCall {
    const call = { index: this.#calls.length, id, hasArguments: false };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #made(index: number): string {
    const digest = createHash('sha256').update(`${this.#completionId}/${index}`).digest('base64url');
    return `call_${digest.slice(0, 24)}`;
  }
}
