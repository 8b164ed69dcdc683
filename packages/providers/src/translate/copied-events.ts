import { parseJson, type SseParser } from '@sotto/wire';
import { asObject, type JsonObject } from '../json.ts';

/** How a provider's text events look. All strings are `latin1`. */
export interface TextEvents {
  /** The names of the fields that may hold the text. */
  readonly fields: readonly string[];
  /** The lines before the data line of such an event, with their line breaks. */
  readonly before: string;
  /**
   * Returns the frame that clients get for an event: empty if its text is hidden, undefined if the event holds more
   * than this text.
   */
  frameFor(event: JsonObject, text: string): string | undefined;
}

/**
 * The bytes that all text events of one provider stream share: all except the text. Providers repeat their envelope
 * byte for byte. Parsing and rewriting an event costs several times as much as copying its text.
 */
export interface EventTemplate {
  /** The bytes before and after the text. In an event with padding, `tail` ends at the padding. */
  readonly head: string;
  readonly tail: string;
  /**
   * The bytes after the padding, if the event has any. Padding is a random number of meaningless characters. It hides
   * the length of a token from an observer who counts encrypted bytes (OpenAI's `obfuscation`).
   */
  readonly afterPadding: string | undefined;
  /** The same with the event's framing: the lines before and `data: `, and the blank line after. */
  readonly framedHead: string;
  readonly framedTail: string;
  readonly framedAfterPadding: string | undefined;
  /** The pieces of the frame that clients get, between which the text stands. One empty piece: the frame is hidden. */
  readonly out: readonly string[];
}

const probe = 'SottoProbe7f3a9c';
const padding = /"obfuscation": ?"(?=[^"\\]*")/;

/**
 * Learns a template from an event that carries only text. The template is tested before use: with the text replaced by
 * a probe, the event must parse as the same event with the probe as its text.
 */
export function learnTemplate(event: string, { fields, before, frameFor }: TextEvents): EventTemplate | undefined {
  // An event with several `data:` lines has line breaks that are not part of its data.
  if (event.includes('\n')) return undefined;
  for (const field of fields) {
    const start = textStart(event, field);
    if (start === -1) continue;
    const end = textEnd(event, start);
    if (end === -1) continue;
    const head = event.slice(0, start);
    const [tail, afterPadding] = cutAtPadding(event.slice(end));
    const probed = asObject(
      parseJson(utf8(head + probe + tail + (afterPadding === undefined ? '' : probe + afterPadding))),
    );
    const frame = probed === undefined ? undefined : frameFor(probed, probe);
    if (frame === undefined) continue;
    return {
      head,
      tail,
      afterPadding,
      framedHead: `${before}data: ${head}`,
      framedTail: afterPadding === undefined ? `${tail}\n\n` : tail,
      framedAfterPadding: afterPadding === undefined ? undefined : `${afterPadding}\n\n`,
      out: frame.split(probe),
    };
  }
  return undefined;
}

/** Returns the frame for a text that is still escaped as JSON. */
const frameOf = ({ out }: EventTemplate, text: string): string =>
  out.length === 2 ? `${out[0]}${text}${out[1]}` : out.join(text);

/**
 * Splits the bytes after a text into those up to the padding and those after it. The second is undefined without
 * padding.
 */
function cutAtPadding(rest: string): [tail: string, afterPadding: string | undefined] {
  const found = padding.exec(rest);
  if (found === null) return [rest, undefined];
  const start = found.index + found[0].length;
  return [rest.slice(0, start), rest.slice(plainEnd(rest, start))];
}

/** Returns the text of an event that matches a template, still escaped as JSON. Undefined if it does not match. */
function matchTemplate(event: string, template: EventTemplate): string | undefined {
  const { head, tail, afterPadding } = template;
  // Comparing slices is several times as fast as `startsWith`, which compares character by character.
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

/**
 * Returns the end of an event whose text ends at `from`, followed by `tail`, padding and `after`. Returns -1 if it does
 * not match.
 */
function paddedEnd(bytes: string, from: number, tail: string, after: string): number {
  const start = from + tail.length;
  if (bytes.slice(from, start) !== tail) return -1;
  const end = plainEnd(bytes, start);
  return bytes.slice(end, end + after.length) === after ? end + after.length : -1;
}

/** The result of `copyRun`: the frames for the client, the position where it stopped, and the bytes of text copied. */
export interface CopiedRun {
  readonly frames: string;
  readonly end: number;
  readonly textBytes: number;
  readonly events: number;
}

/**
 * Copies a run of whole events that match a template, from `start` on, without parsing their framing. `bytes` must not
 * hold a carriage return. Stops before the first event that does not match.
 */
export function copyRun(bytes: string, start: number, template: EventTemplate): CopiedRun {
  const { framedHead, framedTail, framedAfterPadding } = template;
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
    frames += frameOf(template, text);
    textBytes += end === plainUntil ? text.length : unescapedBytes(text);
    events += 1;
    at = next;
  }
  return { frames, end: at, textBytes, events };
}

/** Limit of learned templates. Content and reasoning need two; more than this means that the envelope never repeats. */
const maxTemplates = 4;
/** Limit of attempts to learn a template since the last event that one matched. */
const maxLearningTries = 12;

/** Learns the envelopes of one stream's text events, and copies the events that repeat one by their bytes. */
export class EventCopier {
  readonly #shape: TextEvents;
  readonly #templates: EventTemplate[] = [];
  #tries = 0;

  constructor(shape: TextEvents) {
    this.#shape = shape;
  }

  /**
   * Gives the bytes of a stream to its parser, except runs of events that match a template. While `mayCopy` says no, the
   * parser gets everything.
   */
  take(bytes: string, parser: SseParser, mayCopy: () => boolean, copied: (run: CopiedRun) => void): void {
    if (this.#templates.length === 0 || bytes.includes('\r')) {
      parser.push(bytes);
      return;
    }
    let at = 0;
    while (at < bytes.length) {
      if (parser.isBetweenEvents && mayCopy()) at = this.#copyRuns(bytes, at, copied);
      const blank = bytes.indexOf('\n\n', at);
      const end = blank === -1 ? bytes.length : blank + 2;
      if (at < end) parser.push(at === 0 && end === bytes.length ? bytes : bytes.slice(at, end));
      at = end;
    }
  }

  #copyRuns(bytes: string, start: number, copied: (run: CopiedRun) => void): number {
    let at = start;
    for (const template of this.#templates) {
      const run = copyRun(bytes, at, template);
      if (run.events === 0) continue;
      this.#tries = 0;
      copied(run);
      at = run.end;
    }
    return at;
  }

  /** Copies an event that the parser has taken out of its framing. Returns undefined if it matches no template. */
  copyEvent(data: string): CopiedRun | undefined {
    for (const template of this.#templates) {
      const text = matchTemplate(data, template);
      if (text === undefined) continue;
      this.#tries = 0;
      return { frames: frameOf(template, text), end: data.length, textBytes: unescapedBytes(text), events: 1 };
    }
    return undefined;
  }

  /** Learns the envelope of an event that carried text and that no template matched. */
  learn(data: string): void {
    if (this.#tries >= maxLearningTries) return;
    this.#tries += 1;
    const template = learnTemplate(data, this.#shape);
    if (template === undefined) return;
    if (this.#templates.length >= maxTemplates) this.#templates.shift();
    this.#templates.push(template);
  }
}

function textStart(event: string, field: string): number {
  for (const opening of [`"${field}":"`, `"${field}": "`]) {
    const at = event.indexOf(opening);
    if (at !== -1) return at + opening.length;
  }
  return -1;
}

/**
 * Returns the end of the JSON string that is open at `start`. Returns -1 if it has no end or is invalid: a line break
 * or another control character, or an unknown escape. Such text must not be copied into a frame for clients.
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

/** Returns the end of the unescaped characters inside a JSON string. */
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

/** Returns the length in bytes of the inside of a JSON string after its escapes are resolved. */
function unescapedBytes(source: string): number {
  let bytes = source.length;
  for (let at = source.indexOf('\\'); at !== -1; at = source.indexOf('\\', at)) {
    const isUnit = source.charCodeAt(at + 1) === 117;
    bytes -= isUnit ? 6 - utf8Bytes(Number.parseInt(source.slice(at + 2, at + 6), 16)) : 1;
    at += isUnit ? 6 : 2;
  }
  return bytes;
}

/** Bytes of one UTF-16 unit in UTF-8. Half of a surrogate pair counts as half of its four bytes. */
function utf8Bytes(unit: number): number {
  if (unit < 0x80) return 1;
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
}

/** Decodes text from bytes that stream readers hold as one character each. */
export const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
export const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/**
 * Matches a line whose field the event-stream format does not define. A reader ignores it, because some proxies add
 * such lines. A line that begins with `error:` does not match, because it reports a failure.
 */
export const unknownField: RegExp = /^(?!error:)[a-z][a-z0-9_-]*:/i;
