import { nusdToUsd } from '@sotto/money';
import { BufferedReader } from '@sotto/providers';
import { answerJson } from '../answers/json-answer.ts';
import { shownUsage } from '../answers/shown-usage.ts';
import { tryWhole } from '../attempts/try-whole.ts';
import type { InferenceRequest } from '../inference-request.ts';
import type { ChatQuestion } from './chat-question.ts';
import { chatTarget } from './upstream-target.ts';

const maxBytes = 64 * 1024 * 1024;

/** Serves a chat request that wants one JSON answer. */
export async function serveWholeChat(inference: InferenceRequest, question: ChatQuestion): Promise<void> {
  const { deps } = inference;
  const id = `chatcmpl-${deps.randomId()}`;
  const created = Math.floor(deps.now() / 1000);
  const tried = await tryWhole(inference, {
    ask(route, { adapter, entry }) {
      const request = adapter.chatRequest(question.chat, chatTarget(question, route, entry));
      if ('unsupported' in request) return request;
      const options = { identity: { id, created, model: route.modelId }, stripReasoning: question.stripReasoning };
      return { request, reader: new BufferedReader((body) => adapter.readChat(body, options)) };
    },
    maxBytes,
  });
  if (tried === undefined) return;

  const { route, startedAt, success } = tried;
  const { answer, reported, producedBytes } = success;
  const { usage, chargeNusd } = await inference.settlement.settle(
    'completed',
    inference.served(route, reported, producedBytes),
  );
  const durationMs = deps.now() - startedAt;
  deps.measurements.add({
    routeId: route.id,
    success: true,
    ttftMs: durationMs,
    tokensPerSecond: usage.completionTokens > 0 ? (usage.completionTokens * 1000) / Math.max(durationMs, 1) : undefined,
  });
  answerJson(inference, route, { ...answer, usage: { ...shownUsage(reported, usage), cost: nusdToUsd(chargeNusd) } });
}
