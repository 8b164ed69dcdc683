import { type Nusd, usdToNusd } from '@sotto/money';
import { asNumber, asObject, parseJson, SseParser } from '@sotto/wire';
import { type Charge, readAnswerCharge } from '../bill/read-bill.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { rewritten } from './rewritten-answer.ts';

/** The cost that an answer states. */
export interface StatedCost {
  readonly cost: Nusd;
  /** Undefined if the answer does not state all that its cost follows from. */
  readonly charge: Charge | undefined;
}

export interface StatedUsageOptions {
  readonly isStream: boolean;
  /** Whether the event with the usage is left out: some tools cannot read an event without a choice that they did not ask for. */
  readonly hidesUsage: boolean;
  readonly onStated: (stated: StatedCost) => void;
  /** Called once, at the end of the body or when it is read no further. */
  readonly onEnd: () => void;
}

/** The same answer, which is read for its cost on the way. */
export function watchingUsage(answer: ContentAnswer, options: StatedUsageOptions): ContentAnswer {
  const { isStream, onEnd } = options;
  const pieces = isStream ? readStream(answer.body, options) : readWhole(answer.body, options);
  return rewritten(answer, closing(pieces, onEnd));
}

function statedIn(value: unknown): StatedCost | undefined {
  const usd = asNumber(asObject(asObject(value)?.usage)?.cost);
  const cost = usd === undefined ? undefined : usdToNusd(usd);
  return cost === undefined ? undefined : { cost, charge: readAnswerCharge(value) };
}

async function* readWhole(
  pieces: AsyncIterable<Uint8Array>,
  { onStated }: StatedUsageOptions,
): AsyncGenerator<Uint8Array> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) {
    read.push(piece);
    yield piece;
  }
  const stated = statedIn(parseJson(Buffer.concat(read).toString('utf8')));
  if (stated !== undefined) onStated(stated);
}

async function* readStream(
  pieces: AsyncIterable<Uint8Array>,
  { hidesUsage, onStated }: StatedUsageOptions,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let events: string[] = [];
  const parser = new SseParser({
    onEvent(event) {
      // Most events have no usage, and need not be parsed.
      const stated = event.includes('"cost"') ? statedIn(parseJson(event)) : undefined;
      if (stated !== undefined) onStated(stated);
      if (stated === undefined || !hidesUsage) events.push(event);
    },
  });
  for await (const piece of pieces) {
    parser.push(decoder.decode(piece, { stream: true }));
    if (!hidesUsage) yield piece;
    else if (events.length > 0) yield encoder.encode(events.map((event) => `data: ${event}\n\n`).join(''));
    events = [];
  }
  parser.end();
  if (hidesUsage && events.length > 0) yield encoder.encode(events.map((event) => `data: ${event}\n\n`).join(''));
}

async function* closing(pieces: AsyncIterable<Uint8Array>, close: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } finally {
    close();
  }
}
