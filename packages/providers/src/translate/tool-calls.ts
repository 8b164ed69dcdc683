import { type ChatRequest, parseJson } from '@sotto/wire';
import type { UnsupportedRequest } from '../adapter.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { MalformedAnswer } from './malformed-answer.ts';

interface OpenedCall {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly given?: string;
}

interface OpenCall {
  readonly index: number;
  /** Arguments that arrived at once, with the beginning of the call. */
  readonly given: string;
  /** Arguments that arrived in pieces. */
  more: string;
  isStopped: boolean;
}

/** The tool calls of a stream, by block. The stream opens a call, sends its arguments in pieces, and closes it. */
export class OpenToolCalls {
  readonly #calls = new Map<unknown, OpenCall>();

  /**
   * Begins a call in the block `at`. Calls that have stopped without arguments get an empty object first. `given` holds arguments that arrived at once. Throws `MalformedAnswer` if the id or the
   * name is missing: these APIs send both with the beginning of a call.
   */
  open(at: unknown, { id, name, given = '' }: OpenedCall): ToolCallPiece[] {
    if (!id || !name) throw new MalformedAnswer();
    const stopped = [...this.#calls.values()].filter(({ isStopped }) => isStopped).flatMap(withEmpty);
    const index = this.#calls.size;
    this.#calls.set(at, { index, given, more: '', isStopped: false });
    return [...stopped, { index, id, type: 'function', function: { name, arguments: given } }];
  }

  /** Adds to the arguments of a call. */
  more(at: unknown, piece: string): ToolCallPiece[] {
    const call = this.#calls.get(at);
    if (call === undefined || piece === '') return [];
    call.more += piece;
    return [{ index: call.index, function: { arguments: piece } }];
  }

  /** Takes the end of a call. An answer that is cut off has it, too. */
  stop(at: unknown): void {
    const call = this.#calls.get(at);
    if (call !== undefined) call.isStopped = true;
  }

  /**
   * Closes all calls. Those without arguments get an empty object, because clients parse the arguments. The last call of
   * an answer that was cut off gets none: its tool must not run without what the model would have written. Throws
   * `MalformedAnswer` if arguments that arrived at once and again in pieces fail to form one JSON text.
   */
  close(isCut: boolean): ToolCallPiece[] {
    return [...this.#calls.values()].flatMap((call) => {
      const { index, given, more } = call;
      if (given !== '' && more !== '' && parseJson(given + more) === undefined) throw new MalformedAnswer();
      return isCut && index === this.#calls.size - 1 ? [] : withEmpty(call);
    });
  }
}

function withEmpty(call: OpenCall): ToolCallPiece[] {
  if (call.given !== '' || call.more !== '') return [];
  call.more = '{}';
  return [{ index: call.index, function: { arguments: '{}' } }];
}

/** Refuses the first tool whose name an API would refuse. `takes` describes `pattern` in words. */
export function unfitToolName(
  tools: ChatRequest['tools'],
  pattern: RegExp,
  takes: string,
): UnsupportedRequest | undefined {
  const index = (tools ?? []).findIndex(({ function: { name } }) => !pattern.test(name));
  const param = `tools.${index}.function.name`;
  return index === -1 ? undefined : { unsupported: `\`${param}\` must be ${takes}, for this model.`, param };
}
