import { nusdToUsd } from '@sotto/money';
import type { ChatAnswer } from '@sotto/providers';
import { answerJson } from '../answers/json-answer.ts';
import { shownUsage } from '../answers/shown-usage.ts';
import { JsonAttempt, type JsonResult } from '../attempts/json-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
import { type InferenceRequest, measuredOutput } from '../inference-request.ts';
import type { ChatQuestion } from './chat-question.ts';
import { chatTarget } from './upstream-target.ts';

/** Serves a chat request that wants one JSON answer. */
export async function serveWholeChat(inference: InferenceRequest, question: ChatQuestion): Promise<void> {
  const { deps } = inference;
  const id = `chatcmpl-${deps.randomId()}`;
  const created = Math.floor(deps.now() / 1000);
  const tried = await inference.try<Extract<JsonResult<ChatAnswer>, { ok: true }>>((route, provider, hasSuccessor) => {
    const { adapter, upstream, entry } = provider;
    const request = adapter.chatRequest(question.chatFor(route), chatTarget(question, route, entry));
    if ('unsupported' in request) return unsupportedAttempt(request);
    const options = { identity: { id, created, model: route.modelId }, stripReasoning: question.stripReasoning };
    let attempt: JsonAttempt<ChatAnswer> | undefined;
    const result = new Promise<JsonResult<ChatAnswer>>((resolve) => {
      attempt = new JsonAttempt({
        adapter,
        limits: inference.limitsOf(entry.timeouts, hasSuccessor),
        read: (body) => adapter.readChat(body, options),
        onResult: resolve,
      });
      attempt.start(upstream, request);
    }).then((read) => (read.ok ? { ok: true as const, success: read } : read));
    return { result, abort: () => attempt?.abort() };
  });
  if (tried.end === 'client_left') return inference.logged(499, undefined, 'client_left');
  if (tried.end === 'refused') return inference.refuse(tried.error);

  const { route, tookMs, success } = tried;
  const { answer, reported, producedBytes } = success.reading;
  const metered = await inference.settlement.settle('completed', inference.served(route, reported, producedBytes));
  inference.measure(route, { kind: 'whole', durationMs: tookMs, output: measuredOutput(metered, producedBytes) });
  const { usage, chargeNusd } = metered;
  answerJson(inference, route, { ...answer, usage: { ...shownUsage(reported, usage), cost: nusdToUsd(chargeNusd) } });
}
