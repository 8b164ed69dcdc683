import type { ToolCallPiece } from '../openai/content.ts';

/** The tool calls of a stream that opens them, writes their arguments in pieces, and closes them, by block. */
export class OpenToolCalls {
  readonly #calls = new Map<unknown, { readonly index: number; hasArguments: boolean }>();

  /** A call begins in the block `at`; `given` are arguments that came at once. */
  open(at: unknown, called: { readonly id: string; readonly name: string; readonly given?: string }): ToolCallPiece {
    const { id, name, given = '' } = called;
    const index = this.#calls.size;
    this.#calls.set(at, { index, hasArguments: given !== '' });
    return { index, id, type: 'function', function: { name, arguments: given } };
  }

  /** More of a call's arguments. */
  more(at: unknown, piece: string): ToolCallPiece[] {
    const call = this.#calls.get(at);
    if (call === undefined || piece === '') return [];
    call.hasArguments = true;
    return [{ index: call.index, function: { arguments: piece } }];
  }

  /** A call without arguments is one with an empty object: clients parse what they got. */
  close(at: unknown): ToolCallPiece[] {
    return this.#calls.get(at)?.hasArguments === false ? this.more(at, '{}') : [];
  }
}
