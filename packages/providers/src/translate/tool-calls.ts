import { createHash } from 'node:crypto';
import { type ChatRequest, parseJson } from '@sotto/wire';
import type { UnsupportedRequest } from '../adapter.ts';
import type { ToolCallPiece } from '../openai/content.ts';

interface OpenCall {
  readonly index: number;
  /** Arguments that arrived at once, with the beginning of the call. */
  readonly given: string;
  /** Arguments that arrived in pieces. */
  more: string;
}

/** The tool calls of a stream, by block. The stream opens a call, sends its arguments in pieces, and closes it. */
export class OpenToolCalls {
  readonly #calls = new Map<unknown, OpenCall>();

  /** Begins a call in the block `at`. `given` holds arguments that arrived at once. */
  open(at: unknown, called: { readonly id: string; readonly name: string; readonly given?: string }): ToolCallPiece {
    const { id, name, given = '' } = called;
    const index = this.#calls.size;
    this.#calls.set(at, { index, given, more: '' });
    return { index, id, type: 'function', function: { name, arguments: given } };
  }

  /** Adds to the arguments of a call. */
  more(at: unknown, piece: string): ToolCallPiece[] {
    const call = this.#calls.get(at);
    if (call === undefined || piece === '') return [];
    call.more += piece;
    return [{ index: call.index, function: { arguments: piece } }];
  }

  /** Closes a call. A call without arguments gets an empty object, because clients parse the arguments. */
  close(at: unknown): ToolCallPiece[] {
    const call = this.#calls.get(at);
    return call?.given === '' && call.more === '' ? this.more(at, '{}') : [];
  }

  /** Whether arguments that arrived at once and again in pieces fail to form one JSON text. */
  get isSpliced(): boolean {
    return [...this.#calls.values()].some(
      ({ given, more }) => given !== '' && more !== '' && parseJson(given + more) === undefined,
    );
  }
}

/** Returns an id that is derived from a text by a hash, which does not reveal the text. */
export const digestedCallId = (text: string): string =>
  `call_${createHash('sha256').update(text).digest('base64url').slice(0, 24)}`;

const safe = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Returns a tool call's id in a form that strict APIs accept. An id in another form becomes a digest, which is the same
 * for the call and for its result.
 */
export const safeCallId = (id: string): string => (safe.test(id) ? id : digestedCallId(id));

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
