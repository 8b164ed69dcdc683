import { nusdToUsd } from '@sotto/money';
import { type ChatStreamReader, type ReportedUsage, shownUsage } from '@sotto/providers';
import { hidesOutput, type Route } from '@sotto/router';
import { type ErrorType, errorEnvelope, sseDone, sseFrame } from '@sotto/wire';
import { requestEnds, type StreamEnd, streamToClient } from '../answers/stream-to-client.ts';
import type { StreamStart } from '../attempts/flowing-attempt.ts';
import { StreamAttempt } from '../attempts/stream-attempt.ts';
import { type AbandonedAttempt, unsupportedAttempt } from '../attempts/try-routes.ts';
import { type InferenceRequest, measuredOutput } from '../inference-request.ts';
import type { Served } from '../settlement/request-settlement.ts';
import type { ChatQuestion } from './chat-question.ts';
import { chatTarget } from './upstream-target.ts';

/** Serves a chat request that wants a stream. */
export async function serveStreamedChat(inference: InferenceRequest, question: ChatQuestion): Promise<void> {
  const { deps } = inference;
  const id = `chatcmpl-${deps.randomId()}`;
  const created = Math.floor(deps.now() / 1000);
  const hiddenTokens = (route: Route, silentMs: number): number =>
    hidesOutput(route, question.needs) ? inference.outputIn(route, silentMs) : 0;
  const abandoned = ({ route, tookMs }: AbandonedAttempt): Served =>
    inference.served(route, undefined, 0, hiddenTokens(route, tookMs));
  const tried = await inference.try<StreamAttempt>((route, provider, hasSuccessor) => {
    const { adapter, upstream, entry } = provider;
    const request = adapter.chatRequest(question.chatFor(route), chatTarget(question, route, entry));
    if ('unsupported' in request) return unsupportedAttempt(request);
    let attempt: StreamAttempt | undefined;
    const result = new Promise<{ ok: true; success: StreamAttempt } | Extract<StreamStart, { ok: false }>>(
      (resolve) => {
        const begun = new StreamAttempt({
          adapter,
          limits: inference.limitsOf(entry.timeouts, hasSuccessor),
          reader: adapter.openChatStream({
            identity: { id, created, model: route.modelId },
            stripReasoning: question.stripReasoning,
          }),
          onStart: (start) => resolve(start.ok ? { ok: true, success: begun } : start),
        });
        attempt = begun;
        begun.start(upstream, request);
      },
    );
    return { result, abort: () => attempt?.abort() };
  }, abandoned);
  if (tried === undefined) return;

  const { route, tookMs, success: attempt } = tried;
  const contentType = 'text/event-stream; charset=utf-8';
  // Text comes in small pieces: a client that does not take them at once holds back.
  const stream = { route, attempt, contentType, heldBackFromMs: 0, hidesOutput: hidesOutput(route, question.needs) };
  const { end, flowMs, heldBackMs, silentMs } = await streamToClient(inference, stream);
  const reported = usageOf(attempt.reader);
  // A provider that completes its answer without usage showed all of it, as far as anybody can tell.
  const hidden = end === 'complete' ? 0 : hiddenTokens(route, tookMs + silentMs);
  const metered = await inference.settlement.settle(
    requestEnds[end],
    inference.served(route, reported, attempt.reader.producedBytes, hidden),
  );
  const { response } = inference.client;
  if (end === 'complete') {
    if (question.chat.stream_options?.include_usage === true) {
      const usage = { ...shownUsage(reported, metered.usage), cost: nusdToUsd(metered.chargeNusd) };
      const chunk = { id, object: 'chat.completion.chunk', created, model: route.modelId, choices: [], usage };
      response.write(sseFrame(JSON.stringify(chunk)));
    }
    response.end(sseDone);
  } else if (end !== 'client_left') {
    response.end(errorFrame({ id, created, model: route.modelId }, end, inference.request.id));
  }
  const output = measuredOutput(metered, attempt.reader.producedBytes);
  inference.measure(route, { kind: 'streamed', end, ttftMs: tookMs, flowMs, heldBackMs, output });
  inference.logged(200, route, end === 'complete' ? undefined : end);
}

/**
 * The provider's usage, if it speaks of all that was produced. Some send one with the first piece: whoever left before
 * the last one came would have the answer for nothing.
 */
const usageOf = ({ reported, reportedAtBytes, producedBytes }: ChatStreamReader): ReportedUsage | undefined =>
  reportedAtBytes < producedBytes ? undefined : reported;

type BrokenEnd = Exclude<StreamEnd, 'complete' | 'client_left'>;

/** The last frame of a broken stream: a chunk with `error`, and no terminator after it. */
function errorFrame(
  identity: { id: string; created: number; model: string },
  end: BrokenEnd,
  requestId: string,
): string {
  return sseFrame(
    JSON.stringify({
      id: identity.id,
      object: 'chat.completion.chunk',
      created: identity.created,
      model: identity.model,
      choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
      error: errorEnvelope(endErrors[end], requestId).error,
    }),
  );
}

const providerBroke = {
  message: 'The provider broke off in the middle of the answer, which is incomplete.',
  type: 'provider_error',
} as const;
const wentAway = 'The service is being restarted and had to break off in the middle of the answer';
const endErrors: Readonly<Record<BrokenEnd, { readonly message: string; readonly type: ErrorType }>> = {
  broke: providerBroke,
  broke_while_held_back: providerBroke,
  out_of_time: {
    message: 'The time for this request ran out in the middle of the answer, which is incomplete.',
    type: 'provider_timeout',
  },
  shut_down: { message: `${wentAway}, which is incomplete and not charged.`, type: 'service_unavailable' },
  shut_down_while_held_back: { message: `${wentAway}, which is incomplete.`, type: 'service_unavailable' },
};
