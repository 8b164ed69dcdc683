import type { ReasoningDetail } from '@sotto/wire';
import type { ChunkDelta } from './chat-stream.ts';
import { asObject, type JsonObject, parseExact, parseJson } from './json.ts';
import { UnwritableAnswer } from './translation.ts';

/** A whole block of an answer. Both dialects write an answer as a list of them. */
export type AnswerBlock =
  | { readonly kind: 'reasoning'; readonly text: string; readonly details: readonly ReasoningDetail[] }
  | { readonly kind: 'text' | 'refusal'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly text: string };

/** The start of a block, before its text. */
export type BlockStart =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' }
  | { readonly kind: 'call'; readonly id: string; readonly name: string };

/** Hears the blocks of an answer, one after the other: a start, any number of texts, and an end. */
export interface BlockListener {
  onStart(block: BlockStart): void;
  onText(text: string): void;
  onEnd(block: AnswerBlock): void;
}

type Mutable<Block> = { -readonly [Field in keyof Block]: Block[Field] };

/** A block that is not whole yet. */
type Open = Mutable<AnswerBlock>;
type Call = Extract<Open, { kind: 'call' }>;
type Thought = Extract<Open, { kind: 'reasoning' }>;
type Said = Exclude<Open, Call | Thought>;

/**
 * Turns the deltas of a chat answer into blocks that follow one another. Chat deltas may mix: pieces of several calls
 * can alternate. A call that begins while another one is incomplete waits until that one is whole.
 */
export class AnswerBlocks {
  readonly #listener: BlockListener;
  readonly #calls = new Map<number, Call>();
  readonly #waiting: Call[] = [];
  #open: Open | undefined;

  constructor(listener: BlockListener) {
    this.#listener = listener;
  }

  /** Takes the next delta. */
  add(delta: ChunkDelta): void {
    this.#think(delta.reasoning, delta.reasoning_details ?? []);
    if (delta.content) this.#say('text', delta.content);
    if (delta.refusal) this.#say('refusal', delta.refusal);
    for (const piece of delta.tool_calls ?? []) this.#call(piece);
  }

  /** Ends the answer: nothing more comes. */
  finish(): void {
    this.#close();
    while (this.#waiting.length > 0) this.#nextCall();
  }

  #think(reasoning: string | undefined, details: readonly ReasoningDetail[]): void {
    // Details repeat the text of the trace, together with what signs it.
    const isDetailed = details.some((detail) => textOf(detail) !== '');
    if (reasoning && !isDetailed) this.#thoughtFor(undefined).text += this.#said(reasoning);
    for (const detail of details) {
      if (detail.type === 'reasoning.encrypted') {
        this.#begin({ kind: 'reasoning', text: '', details: [detail] });
        this.#close();
        continue;
      }
      const thought = this.#thoughtFor(detail);
      const text = textOf(detail);
      if (text !== '') thought.text += this.#said(text);
      thought.details = [merged(thought.details[0], detail)];
    }
  }

  /** Returns the open thought if this piece continues it, else a new one. A signature ends a thought. */
  #thoughtFor(piece: ReasoningDetail | undefined): Thought {
    const open = this.#open;
    if (open?.kind === 'reasoning' && continues(open.details[0], piece)) return open;
    const thought: Thought = { kind: 'reasoning', text: '', details: [] };
    this.#begin(thought);
    return thought;
  }

  #say(kind: Said['kind'], text: string): void {
    let open = this.#open;
    if (open?.kind !== kind) {
      open = { kind, text: '' };
      this.#begin(open);
    }
    open.text += this.#said(text);
  }

  #call({ index, id, function: called }: NonNullable<ChunkDelta['tool_calls']>[number]): void {
    const known = this.#calls.get(index);
    const text = called?.arguments ?? '';
    if (known === undefined) {
      const call: Call = { kind: 'call', id: id || `call_${index}`, name: called?.name ?? '', text };
      this.#calls.set(index, call);
      this.#waiting.push(call);
      if (this.#open?.kind === 'call') this.#advance();
      else this.#nextCall();
    } else if (known === this.#open) {
      if (text !== '') known.text += this.#said(text);
      if (this.#waiting.length > 0) this.#advance();
    } else if (this.#waiting.includes(known)) {
      known.text += text;
    }
  }

  /** Goes on to the calls that wait, as long as the open one is whole. */
  #advance(): void {
    while (this.#waiting.length > 0 && this.#open?.kind === 'call' && isWhole(this.#open.text)) this.#nextCall();
  }

  #nextCall(): void {
    this.#close();
    const call = this.#waiting.shift();
    if (call === undefined) return;
    this.#open = call;
    this.#listener.onStart({ kind: 'call', id: call.id, name: call.name });
    if (call.text !== '') this.#listener.onText(call.text);
  }

  #begin(block: Said | Thought): void {
    this.finish();
    this.#open = block;
    this.#listener.onStart({ kind: block.kind });
  }

  #said(text: string): string {
    this.#listener.onText(text);
    return text;
  }

  #close(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#listener.onEnd(open);
  }
}

const textOf = (detail: ReasoningDetail): string =>
  detail.type === 'reasoning.text' ? (detail.text ?? '') : detail.type === 'reasoning.summary' ? detail.summary : '';

/** Whether a piece belongs to a thought whose pieces so far are `before`. */
function continues(before: ReasoningDetail | undefined, piece: ReasoningDetail | undefined): boolean {
  if (before === undefined) return true;
  if (before.type === 'reasoning.text' && before.signature != null) return false;
  return (
    piece === undefined || (piece.type === before.type && (piece.index ?? undefined) === (before.index ?? undefined))
  );
}

/** Joins two pieces of one thought: the text of both, and the other fields of the later one. */
function merged(before: ReasoningDetail | undefined, piece: ReasoningDetail): ReasoningDetail {
  if (before?.type === 'reasoning.text' && piece.type === 'reasoning.text')
    return { ...before, ...piece, text: textOf(before) + textOf(piece) };
  if (before?.type === 'reasoning.summary' && piece.type === 'reasoning.summary')
    return { ...before, ...piece, summary: textOf(before) + textOf(piece) };
  return piece;
}

const isWhole = (text: string): boolean => parseJson(text) !== undefined;

/** The message of a whole chat answer, read loosely. */
export interface AnswerMessage {
  readonly content?: string | null | undefined;
  readonly refusal?: string | null | undefined;
  readonly reasoning?: string | undefined;
  readonly reasoning_details?: readonly ReasoningDetail[] | undefined;
  readonly tool_calls?:
    | readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[]
    | undefined;
}

/** Returns the blocks of a whole answer. It may have no message. */
export function blocksOf(message: AnswerMessage = {}): AnswerBlock[] {
  const blocks: AnswerBlock[] = [];
  const reader = new AnswerBlocks({
    onStart: () => undefined,
    onText: () => undefined,
    onEnd: (block) => void blocks.push(block),
  });
  reader.add({
    ...(message.reasoning === undefined ? {} : { reasoning: message.reasoning }),
    reasoning_details: [...(message.reasoning_details ?? [])],
    content: message.content ?? '',
    refusal: message.refusal ?? '',
    tool_calls: (message.tool_calls ?? []).map(({ id, function: called }, index) => ({ index, id, function: called })),
  });
  reader.finish();
  return blocks;
}

/** Reads the arguments of a whole call. Undefined if they are no JSON object, as those of a call that was cut off. */
const argumentsOf = (text: string): JsonObject | undefined => (text.trim() === '' ? {} : asObject(parseExact(text)));

/** The same, or throws an `UnwritableAnswer`: the tool must not run with empty arguments instead. */
export function requireArguments(text: string, name: string): JsonObject {
  const read = argumentsOf(text);
  if (read === undefined)
    throw new UnwritableAnswer(`The model called \`${name}\` with arguments that are no JSON object.`);
  return read;
}

/**
 * Whether the output limit or a filter cut the answer off within a call. The caller could not run it, and must not run it
 * without arguments.
 */
export const isCutOff = (block: AnswerBlock, finishReason: string | null | undefined): boolean =>
  (finishReason === 'length' || finishReason === 'content_filter') &&
  block.kind === 'call' &&
  (block.text.trim() === '' || argumentsOf(block.text) === undefined);
