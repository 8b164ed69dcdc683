import { type MeterReading, noUsage } from '@sotto/money';
import type { RelayedRequest } from '@sotto/providers';
import { clampCounted, dearestSealedPrice, type Route } from '@sotto/router';
import { breakOff } from '../answers/break-off.ts';
import { requestEnds, streamToClient } from '../answers/stream-to-client.ts';
import type { StreamStart } from '../attempts/flowing-attempt.ts';
import { SealedAttempt } from '../attempts/sealed-attempt.ts';
import type { InferenceRequest } from '../inference-request.ts';
import type { Served } from '../settlement/request-settlement.ts';
import { openSealedMeter, type SealedMeter } from './sealed-meter.ts';
import type { SealedChatQuestion } from './sealed-question.ts';

type Started = { readonly ok: true; readonly success: SealedAttempt } | Extract<StreamStart, { ok: false }>;

/** An estimate is no measurement of speed. */
const unknownTokens = { tokens: undefined, reasoningTokens: 0, bytes: 0 } as const;

/** Passes a sealed request on to its one provider, and the answer back, byte for byte. */
export async function serveSealedChat(inference: InferenceRequest, question: SealedChatQuestion): Promise<void> {
  const { rule, variant, stream } = question;
  const meter = openSealedMeter(rule, variant, stream);
  const tried = await inference.try<SealedAttempt>((_route, { adapter, upstream, entry }, hasSuccessor) => {
    let attempt: SealedAttempt | undefined;
    const result = new Promise<Started>((resolve) => {
      const begun = new SealedAttempt({
        adapter,
        limits: inference.limitsOf(entry.timeouts, hasSuccessor),
        rule,
        meter,
        stream,
        onStart: (start) => resolve(start.ok ? { ok: true, success: begun } : start),
      });
      attempt = begun;
      begun.start(upstream, relayed(question));
    });
    return { result, abort: () => attempt?.abort() };
  });
  if (tried === undefined) return;

  const { route, tookMs, success: attempt } = tried;
  const { contentType, relayedHeaders } = attempt;
  const flow = await streamToClient(inference, { route, attempt, contentType, relayedHeaders, heldBackFromMs: 0 });
  const { end } = flow;
  await inference.settlement.settle(requestEnds[end], servedSealed(route, question, meter));
  const { response } = inference.client;
  if (end === 'complete') response.end(attempt.tail);
  // Words of ours amid ciphertext would be taken for the enclave's: a body without its end says it all.
  else if (end !== 'client_left') breakOff(response);
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
function servedSealed(route: Route, question: SealedChatQuestion, { producedBytes }: SealedMeter): Served {
  const terms = question.terms();
  const nothing: MeterReading['counted'] = { promptTokens: 0, producedBytes: 0 };
  if (terms.flat !== undefined) return { route, reported: { ...noUsage, ...terms.flat }, counted: nothing };
  const counted = clampCounted(terms, { promptTokens: question.size.promptTokensLikely, producedBytes });
  return { route, reported: undefined, counted, price: dearestSealedPrice(terms, counted) ?? route.price };
}
