import { sseFrame } from '@sotto/wire';
import type { AnswerIdentity } from '../adapter.ts';
import { asObject, parseJson } from '../json.ts';
import { latin1, utf8 } from '../translate/bytes.ts';
import { readChunk, writeChunk } from './chunk.ts';

/**
 * What all text events of one provider stream have in common: everything but the text. Parsing and writing each event
 * anew costs several times what copying its text costs, and providers repeat their envelope to the byte.
 */
export interface ChunkTemplate {
  /** The event's bytes up to the text, and after it; of an event with padding, up to the padding. */
  readonly head: string;
  readonly tail: string;
  /**
   * The bytes after the padding, where the event has any: characters of no meaning, their number drawn by lot, which
   * keep the length of a token from whoever counts encrypted bytes (OpenAI's `obfuscation`).
   */
  readonly afterPadding: string | undefined;
  /** The same with the event's framing: `data: ` before, the blank line after. */
  readonly framedHead: string;
  readonly framedTail: string;
  readonly framedAfterPadding: string | undefined;
  /** The same for the frame that clients get; both empty where the text is not shown. */
  readonly outHead: string;
  readonly outTail: string;
}

const textFields = ['content', 'reasoning_content', 'reasoning'] as const;
const probe = 'SottoProbe7f3a9c';
const padding = /"obfuscation": ?"(?=[^"\\]*")/;

/**
 * Learns a template from an event that carries text and nothing else. All strings are `latin1`.
 * The template is proven before it is used: the event with its text replaced by a probe must read as the same event
 * with the probe as its text.
 */
export function learnTemplate(
  event: string,
  identity: AnswerIdentity,
  stripReasoning: boolean,
): ChunkTemplate | undefined {
  // An event of several `data:` lines: its line breaks are not those of a run of bytes.
  if (event.includes('\n')) return undefined;
  for (const field of textFields) {
    const start = textStart(event, field);
    if (start === -1) continue;
    const end = textEnd(event, start);
    if (end === -1) continue;
    const head = event.slice(0, start);
    const rest = event.slice(end);
    const [tail, afterPadding] = cutAtPadding(rest);
    const probed = asObject(
      parseJson(utf8(head + probe + tail + (afterPadding === undefined ? '' : probe + afterPadding))),
    );
    if (probed === undefined) continue;
    const read = readChunk(probed);
    const chunk = { ...read, toolCalls: [], finishReason: undefined };
    const shownAsReasoning = chunk.reasoning === probe && chunk.content === undefined;
    const shownAsContent = chunk.content === probe && chunk.reasoning === undefined;
    const plain = read.toolCalls.length === 0 && read.finishReason === undefined;
    const bare = chunk.error === undefined && chunk.reported === undefined && chunk.refusal === undefined;
    if (!(shownAsContent || shownAsReasoning) || !plain || !bare || probed.usage != null) continue;
    const parts = { head, tail, afterPadding };
    if (shownAsReasoning && stripReasoning) return makeTemplate(parts, '', '');
    const frame = latin1(sseFrame(JSON.stringify(writeChunk(chunk, identity, stripReasoning))));
    const at = frame.indexOf(probe);
    return makeTemplate(parts, frame.slice(0, at), frame.slice(at + probe.length));
  }
  return undefined;
}

/** What follows a text, up to the padding and after it; undefined for the second where there is none. */
function cutAtPadding(rest: string): [tail: string, afterPadding: string | undefined] {
  const found = padding.exec(rest);
  if (found === null) return [rest, undefined];
  const start = found.index + found[0].length;
  return [rest.slice(0, start), rest.slice(plainEnd(rest, start))];
}

const makeTemplate = (
  { head, tail, afterPadding }: Pick<ChunkTemplate, 'head' | 'tail' | 'afterPadding'>,
  outHead: string,
  outTail: string,
): ChunkTemplate => ({
  head,
  tail,
  afterPadding,
  framedHead: `data: ${head}`,
  framedTail: afterPadding === undefined ? `${tail}\n\n` : tail,
  framedAfterPadding: afterPadding === undefined ? undefined : `${afterPadding}\n\n`,
  outHead,
  outTail,
});

/** The text of an event that fits a template, still escaped as JSON; undefined where it does not fit. */
export function matchTemplate(event: string, template: ChunkTemplate): string | undefined {
  const { head, tail, afterPadding } = template;
  // Slices compared as strings: several times as fast as `startsWith`, which compares character by character.
  if (event.slice(0, head.length) !== head) return undefined;
  if (afterPadding !== undefined) {
    const textAt = textEnd(event, head.length);
    const end = textAt === -1 ? -1 : paddedEnd(event, textAt, tail, afterPadding);
    return end === event.length ? event.slice(head.length, textAt) : undefined;
  }
  const end = event.length - tail.length;
  if (end < head.length || event.slice(end) !== tail) return undefined;
  return textEnd(event, head.length) === end ? event.slice(head.length, end) : undefined;
}

/** Where an event ends whose text ends at `from` and is followed by `tail`, padding and `after`; -1: it is not. */
function paddedEnd(bytes: string, from: number, tail: string, after: string): number {
  const start = from + tail.length;
  if (bytes.slice(from, start) !== tail) return -1;
  const end = plainEnd(bytes, start);
  return bytes.slice(end, end + after.length) === after ? end + after.length : -1;
}

/** What `copyRun` copied: the frames for the client, where it stopped, and the bytes of text in between. */
export interface CopiedRun {
  readonly frames: string;
  readonly end: number;
  readonly textBytes: number;
  readonly events: number;
}

/**
 * Copies a run of whole events that fit a template straight out of the bytes of a read, from `start` on, without
 * framing them first. `bytes` must hold no carriage return. Stops before the first event that does not fit.
 */
export function copyRun(bytes: string, start: number, template: ChunkTemplate): CopiedRun {
  const { framedHead, framedTail, framedAfterPadding, outHead, outTail } = template;
  const headLength = framedHead.length;
  const tailLength = framedTail.length;
  let frames = '';
  let at = start;
  let textBytes = 0;
  let events = 0;
  while (bytes.slice(at, at + headLength) === framedHead) {
    const textAt = at + headLength;
    const plainUntil = plainEnd(bytes, textAt);
    const end = textEnd(bytes, plainUntil);
    if (end === -1) break;
    let next = end + tailLength;
    if (framedAfterPadding !== undefined) next = paddedEnd(bytes, end, framedTail, framedAfterPadding);
    else if (bytes.slice(end, next) !== framedTail) break;
    if (next === -1) break;
    const text = bytes.slice(textAt, end);
    if (outHead !== '') frames += outHead + text + outTail;
    textBytes += end === plainUntil ? text.length : unescapedBytes(text);
    events += 1;
    at = next;
  }
  return { frames, end: at, textBytes, events };
}

function textStart(event: string, field: string): number {
  for (const opening of [`"${field}":"`, `"${field}": "`]) {
    const at = event.indexOf(opening);
    if (at !== -1) return at + opening.length;
  }
  return -1;
}

/**
 * Where the JSON string that is open at `start` is closed. -1: nowhere, or it holds what no parser takes (a line break
 * or another control character, an unknown escape), which must not be copied into a frame of ours.
 */
function textEnd(source: string, start: number): number {
  let at = plainEnd(source, start);
  while (source.charCodeAt(at) === 92) {
    if (source.charCodeAt(at + 1) === 117) {
      if (!fourHexDigits.test(source.slice(at + 2, at + 6))) return -1;
      at = plainEnd(source, at + 6);
    } else {
      if (!simpleEscapes.has(source.charCodeAt(at + 1))) return -1;
      at = plainEnd(source, at + 2);
    }
  }
  return source.charCodeAt(at) === 34 ? at : -1;
}

/** Where the characters end that stand for themselves inside a JSON string. */
function plainEnd(source: string, start: number): number {
  let at = start;
  for (; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (code <= 34 ? code === 34 || code < 32 : code === 92) break;
  }
  return at;
}

const simpleEscapes: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)));
const fourHexDigits = /^[0-9a-fA-F]{4}$/;

/** How many bytes the inside of a JSON string has once its escapes are resolved. */
export function unescapedBytes(source: string): number {
  let bytes = source.length;
  for (let at = source.indexOf('\\'); at !== -1; at = source.indexOf('\\', at)) {
    const isUnit = source.charCodeAt(at + 1) === 117;
    bytes -= isUnit ? 6 - utf8Bytes(Number.parseInt(source.slice(at + 2, at + 6), 16)) : 1;
    at += isUnit ? 6 : 2;
  }
  return bytes;
}

/** Bytes of one UTF-16 unit in UTF-8; half of a pair counts half of its four. */
function utf8Bytes(unit: number): number {
  if (unit < 0x80) return 1;
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
}
