import { type Nusd, usdToNusd } from '@sotto/money';
import { asNumber, asObject, parseJson, sseFrame, sseKeepAlive } from '@sotto/wire';
import { type Charge, readAnswerCharge } from '../bill/read-bill.ts';
import { maxAnswerBytes } from '../bounded-body.ts';
import { utf8 } from '../e2ee/bytes.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { eventsOf, rewritten } from './rewritten-answer.ts';

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
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* options.isStream ? readStream(answer.body, options) : readWhole(answer.body, options);
    } finally {
      options.onEnd();
    }
  }
  return rewritten(answer, watched());
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
  let read: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    // A larger answer passes, and states no cost: its bound stays reserved.
    if (length > maxAnswerBytes) read = [];
    else read.push(piece);
    yield piece;
  }
  const stated = statedIn(parseJson(Buffer.concat(read).toString('utf8')));
  if (stated !== undefined) onStated(stated);
}

async function* readStream(
  pieces: AsyncIterable<Uint8Array>,
  { hidesUsage, onStated }: StatedUsageOptions,
): AsyncGenerator<Uint8Array> {
  for await (const { piece, events } of eventsOf(pieces)) {
    const shown = events.filter((event) => {
      // Most events have no usage, and need not be parsed.
      const stated = event.includes('"cost"') ? statedIn(parseJson(event)) : undefined;
      if (stated !== undefined) onStated(stated);
      return stated === undefined;
    });
    if (!hidesUsage) yield piece;
    else yield utf8(shown.map(sseFrame).join('') || sseKeepAlive);
  }
}
