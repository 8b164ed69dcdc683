import { digestedCallId } from '../translate/call-ids.ts';
import { MalformedAnswer } from '../translate/malformed-answer.ts';
import type { ReadToolCall, ToolCallPiece } from './content.ts';

/** A call that has begun. */
interface BegunCall {
  /** Its position among the calls of the answer, from 0. */
  readonly index: number;
  /** The provider's id for the call. Some providers send it after the call has begun. */
  id: string | undefined;
  /** The name so far. Some providers send it late or in pieces. */
  name: string;
  /** Arguments that came before the name. */
  held: string;
  /** Whether clients have its id and name. */
  isSent: boolean;
  hasArguments: boolean;
}

/**
 * Identifies the tool calls of one answer. Clients expect indexes from 0 without gaps, and the id, type and name once,
 * whole, with the first piece of a call. Many of them join whatever a later piece repeats.
 *
 * Some providers begin indexes at 1, send none, or send the same one for all calls. Some repeat the id and the name in
 * every piece, and some send the name late or in pieces. So a call is held back until its arguments begin, another call
 * begins, or the answer ends. Clients refer to a call by its id, and this service sends that id to the provider. A call
 * without an id of its own gets one derived from the completion's id by a hash, which does not reveal it.
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

  /** Returns the pieces that clients get. The first piece of each call has its id and name. */
  complete(pieces: readonly ReadToolCall[]): ToolCallPiece[] {
    return pieces.flatMap((piece) => {
      const known = this.#callOf(piece);
      const before = known === undefined ? this.#sendNamed() : [];
      const call = known ?? this.#begin(piece);
      this.#last = call;
      if (!call.isSent) {
        call.id ??= piece.id;
        call.name = joined(call.name, piece.function.name ?? '');
      }
      const args = call.held + (piece.function.arguments ?? '');
      call.held = call.name === '' ? args : '';
      if (args === '' || call.name === '') return before;
      call.hasArguments = true;
      return [
        ...before,
        ...(call.isSent ? [{ index: call.index, function: { arguments: args } }] : this.#send(call, args)),
      ];
    });
  }

  /**
   * Returns what is still held back. Calls without arguments get an empty object, because clients parse the arguments.
   * The last call of an answer that was cut off gets none: its tool must not run without what the model would have
   * written. Throws `MalformedAnswer` for a call without a name: no client could run it.
   */
  close(isCut: boolean): ToolCallPiece[] {
    return this.#calls.flatMap((call) => {
      if (call.isSent && call.hasArguments) return [];
      call.hasArguments = true;
      const args = call.held || (isCut && call === this.#calls.at(-1) ? '' : '{}');
      if (!call.isSent) return this.#send(call, args);
      return args === '' ? [] : [{ index: call.index, function: { arguments: args } }];
    });
  }

  /** Whether a call still lacks its name. */
  get lacksName(): boolean {
    return this.#calls.some(({ name }) => name === '');
  }

  #send(call: BegunCall, args: string): ToolCallPiece[] {
    const { index, name } = call;
    if (name === '') throw new MalformedAnswer();
    call.isSent = true;
    return [{ index, id: this.#idOf(call), type: 'function', function: { name, arguments: args } }];
  }

  /** Sends the calls that wait for nothing but arguments, so that calls keep their order. */
  #sendNamed(): ToolCallPiece[] {
    return this.#calls.flatMap((call) => (call.isSent || call.name === '' ? [] : this.#send(call, '')));
  }

  #idOf({ id, index }: BegunCall): string {
    const isTaken = this.#calls.some((other) => other.index < index && other.id === id);
    return id === undefined || isTaken ? digestedCallId(`${this.#completionId}/${index}`) : id;
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
    const call = { index: this.#calls.length, id, name: '', held: '', isSent: false, hasArguments: false };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }
}

/** Joins the pieces of a name. A piece may also repeat the name so far, or send it whole again with more. */
const joined = (name: string, piece: string): string => (piece.startsWith(name) ? piece : name + piece);
