import type { CountedOutput } from '@sotto/money';
import type { RelayedRequest } from '@sotto/providers';
import { dearestSealedPrice, type Route } from '@sotto/router';
import { breakOff } from '../answers/break-off.ts';
import { requestEnds, streamToClient } from '../answers/stream-to-client.ts';
import type { StreamStart } from '../attempts/flowing-attempt.ts';
import { SealedAttempt } from '../attempts/sealed-attempt.ts';
import type { AbandonedAttempt } from '../attempts/try-routes.ts';
import type { InferenceRequest } from '../inference-request.ts';
import type { Served } from '../settlement/request-settlement.ts';
import { openSealedMeter } from './sealed-meter.ts';
import type { SealedChatQuestion } from './sealed-question.ts';

type Started = { readonly ok: true; readonly success: SealedAttempt } | Extract<StreamStart, { ok: false }>;

/** An estimate is no measurement of speed. */
const unknownTokens = { tokens: undefined, reasoningTokens: 0, bytes: 0 } as const;

/** Passes a sealed request on to its one provider, and the answer back, byte for byte. */
export async function serveSealedChat(inference: InferenceRequest, question: SealedChatQuestion): Promise<void> {
  const { rule, variant, stream } = question;
  const meter = openSealedMeter(rule, variant, stream);
  const abandoned = ({ route, tookMs }: AbandonedAttempt): Served =>
    servedSealed(route, question, { producedBytes: 0, hiddenTokens: stream ? 0 : inference.outputIn(route, tookMs) });
  const tried = await inference.try<SealedAttempt>((route, { adapter, upstream, entry }, hasSuccessor) => {
    let attempt: SealedAttempt | undefined;
    const result = new Promise<Started>((resolve) => {
      const begun = new SealedAttempt({
        adapter,
        limits: inference.limitsOf(entry.timeouts, hasSuccessor),
        rule,
        meter,
        stream,
        mostOutputTokens: question.terms().mostOutputTokens,
        onStart(start) {
          if (start.ok) resolve({ ok: true, success: begun });
          else resolve(begun.isTooLong ? { ...tooLong, spent: servedSealed(route, question, meter) } : start);
        },
      });
      attempt = begun;
      begun.start(upstream, relayed(question));
    });
    return { result, abort: () => attempt?.abort() };
  }, abandoned);
  if (tried === undefined) return;

  const { route, tookMs, success: attempt } = tried;
  const { contentType, relayedHeaders } = attempt;
  const flow = await streamToClient(inference, { route, attempt, contentType, relayedHeaders, heldBackFromMs: 0 });
  const { end } = flow;
  const requestEnd = attempt.isTooLong ? 'answer_too_large' : requestEnds[end];
  await inference.settlement.settle(requestEnd, servedSealed(route, question, meter));
  const { response } = inference.client;
  if (end === 'complete') response.end(attempt.tail);
  // Words of ours amid ciphertext would be taken for the enclave's: a body without its end says it all.
  else if (end !== 'client_left') breakOff(response);
  // What was too long was the client's doing, and says nothing about the provider.
  if (attempt.isTooLong) return inference.logged(200, route, 'answer_too_large');
  if (stream) inference.measure(route, { kind: 'streamed', ...flow, ttftMs: tookMs, output: unknownTokens });
  else inference.measure(route, { kind: 'whole', durationMs: tookMs, output: unknownTokens });
  inference.logged(200, route, end === 'complete' ? undefined : end);
}

const relayed = ({ rule, bytes, headers, stream }: SealedChatQuestion): RelayedRequest => ({
  path: rule.path,
  body: bytes,
  contentType: rule.contentType,
  accept: stream ? 'text/event-stream' : rule.contentType,
  headers,
  answerHeaders: rule.responseHeaders,
});

/** What the meter is told: of what was packed its flat usage, of everything else what its length says. */
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
