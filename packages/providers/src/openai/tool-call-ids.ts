import { digestedCallId } from '../translate/tool-calls.ts';
import type { ReadToolCall, ToolCallPiece } from './content.ts';

/** A call that has begun. */
interface BegunCall {
  /** Its position among the calls of the answer, from 0. */
  readonly index: number;
  /** The provider's id for the call. */
  readonly id: string | undefined;
  hasArguments: boolean;
}

/**
 * Identifies the tool calls of one answer and gives each an index and an id. Clients expect indexes from 0 without
 * gaps. Some providers begin at 1, send no index, or send the same one for all calls. Clients refer to a call by its
 * id, and this service sends that id to the provider. A call without an id gets one derived from the completion's id by
 * a hash, which does not reveal it.
 */
export class ToolCallIds {
  readonly #completionId: string;
  readonly #calls: BegunCall[] = [];
  /** The latest call under each of the provider's indexes. */
  readonly #byIndex = new Map<number, BegunCall>();
  #last: BegunCall | undefined;

  constructor(completionId: string) {
    this.#completionId = completionId;
  }

  /** Returns the pieces with their calls' indexes. The first piece of each call has an id. */
  complete(pieces: readonly ReadToolCall[]): ToolCallPiece[] {
    return pieces.map((piece) => {
      const known = this.#callOf(piece);
      const call = known ?? this.#begin(piece);
      this.#last = call;
      call.hasArguments ||= Boolean(piece.function.arguments);
      const { index } = call;
      if (known !== undefined || piece.id !== undefined) return { ...piece, index };
      return { ...piece, index, id: digestedCallId(`${this.#completionId}/${index}`), type: 'function' };
    });
  }

  /** Returns empty objects for calls without arguments, because clients parse the arguments. */
  close(): ToolCallPiece[] {
    return this.#calls.flatMap((call) => {
      if (call.hasArguments) return [];
      call.hasArguments = true;
      return [{ index: call.index, function: { arguments: '{}' } }];
    });
  }

  /** The call that a piece continues; undefined if the piece begins a call. */
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
}
