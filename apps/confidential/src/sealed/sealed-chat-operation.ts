import type { CountedOutput } from '@sotto/money';
import type { RelayedRequest } from '@sotto/providers';
import { openSealedMeter } from '@sotto/providers';
import { dearestSealedPrice, type Route } from '@sotto/router';
import { beginFlowing } from '../attempts/begin-attempt.ts';
import type { InferenceDependencies } from '../inference/deps.ts';
import type { Operation } from '../inference/operation.ts';
import type { Served } from '../settlement/served.ts';
import { SealedAttempt } from './sealed-attempt.ts';
import { readSealedQuestion, type SealedChatQuestion } from './sealed-question.ts';

/**
 * Chat that was encrypted for a provider's enclave. It is passed on to that provider, and its answer back, byte for
 * byte.
 */
export const sealedChatOperation = ({
  admission: { view },
  providers,
}: Pick<InferenceDependencies, 'admission' | 'providers'>): Operation<SealedChatQuestion> => ({
  name: 'chat',
  ticketOnly: 'End-to-end-encrypted chat',
  read: (request) => readSealedQuestion(request, providers),
  attempt(question, { route, provider: { adapter, upstream }, limits }) {
    const { rule, variant, stream } = question;
    const meter = openSealedMeter(rule, variant, stream);
    const { mostOutputTokens } = question.terms();
    const served = (): Served => servedSealed(route, question, meter);
    return beginFlowing({
      upstream,
      request: relayed(question),
      open: (onStart) => new SealedAttempt({ adapter, limits, rule, meter, stream, mostOutputTokens, onStart }),
      failure: (failed, attempt) => (attempt.isTooLong ? { ...tooLong, spent: served() } : failed),
      success: (attempt) => ({
        stream: {
          ...{ attempt, heldBackFromMs: 0 },
          contentType: attempt.contentType,
          relayedHeaders: attempt.relayedHeaders,
        },
        isWhole: !stream,
        served: ({ tookMs }) => ({ ...served(), firstTokenMs: tookMs }),
        isTooLarge: () => attempt.isTooLong,
        // The client would take our words amid ciphertext for the enclave's. A body without its end says enough.
        lastFrames: (end) => (end === 'complete' ? attempt.tail : undefined),
        measured: ({ end, tookMs, flowMs, heldBackMs }) =>
          stream
            ? { kind: 'streamed', end, ttftMs: tookMs, flowMs, heldBackMs, output: unknownTokens }
            : { kind: 'whole', durationMs: tookMs, output: unknownTokens },
      }),
    });
  },
  abandoned: (question, { route, tookMs }) =>
    servedSealed(route, question, {
      producedBytes: 0,
      hiddenTokens: question.stream ? 0 : view.outputIn(route, tookMs),
    }),
});

/** The tokens are an estimate, and an estimate cannot measure speed. */
const unknownTokens = { tokens: undefined, reasoningTokens: 0, bytes: 0 } as const;

const relayed = ({ rule, bytes, headers, stream }: SealedChatQuestion): RelayedRequest => ({
  path: rule.path,
  body: bytes,
  contentType: rule.contentType,
  accept: stream ? 'text/event-stream' : rule.contentType,
  headers,
  answerHeaders: rule.responseHeaders,
});

/** Returns what the meter needs: for a packed answer its flat usage, for any other an estimate from its length. */
function servedSealed(
  route: Route,
  question: SealedChatQuestion,
  { producedBytes, hiddenTokens = 0 }: Pick<CountedOutput, 'producedBytes' | 'hiddenTokens'>,
): Served {
  const terms = question.terms();
  const { bounds, flat } = terms;
  const counted: CountedOutput = { promptTokens: question.size.promptTokensLikely, producedBytes, hiddenTokens };
  if (flat !== undefined) return { route, reported: flat, counted, bounds };
  return { route, reported: undefined, counted, bounds, price: dearestSealedPrice(terms, counted) ?? route.price };
}

const tooLong = {
  ok: false,
  outcome: 'invalid_request',
  message:
    'The answer has more output than the ceiling of the route allows, and was charged. Ask for one answer (`n`), and for fewer tokens.',
} as const;
