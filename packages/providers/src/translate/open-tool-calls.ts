import { parseJson } from '../json.ts';
import type { ToolCallPiece } from '../openai/content.ts';

interface OpenCall {
  readonly index: number;
  /** Arguments that came at once, with the call's beginning. */
  readonly given: string;
  /** Arguments that came in pieces. */
  more: string;
}

/** The tool calls of a stream that opens them, writes their arguments in pieces, and closes them, by block. */
export class OpenToolCalls {
  readonly #calls = new Map<unknown, OpenCall>();

  /** A call begins in the block `at`; `given` are arguments that came at once. */
  open(at: unknown, called: { readonly id: string; readonly name: string; readonly given?: string }): ToolCallPiece {
    const { id, name, given = '' } = called;
    const index = this.#calls.size;
    this.#calls.set(at, { index, given, more: '' });
    return { index, id, type: 'function', function: { name, arguments: given } };
  }

  /** More of a call's arguments. */
  more(at: unknown, piece: string): ToolCallPiece[] {
    const call = this.#calls.get(at);
    if (call === undefined || piece === '') return [];
    call.more += piece;
    return [{ index: call.index, function: { arguments: piece } }];
  }

  /** A call without arguments is one with an empty object: clients parse what they got. */
  close(at: unknown): ToolCallPiece[] {
    const call = this.#calls.get(at);
    return call?.given === '' && call.more === '' ? this.more(at, '{}') : [];
  }

  /** Whether arguments that came at once and again in pieces do not make one JSON text. */
  get isSpliced(): boolean {
    return [...this.#calls.values()].some(
      ({ given, more }) => given !== '' && more !== '' && parseJson(given + more) === undefined,
    );
  }
}
