import { nusdToUsd } from '@sotto/money';
import { BufferedReader, shownUsage } from '@sotto/providers';
import { answerJson } from '../answers/json-answer.ts';
import { tryWhole } from '../attempts/try-whole.ts';
import { type InferenceRequest, measuredOutput } from '../inference-request.ts';
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
      const request = adapter.chatRequest(question.chatFor(route), chatTarget(question, route, entry));
      if ('unsupported' in request) return request;
      const options = { identity: { id, created, model: route.modelId }, stripReasoning: question.stripReasoning };
      return { request, reader: new BufferedReader((body) => adapter.readChat(body, options)) };
    },
    maxBytes,
    abandoned: ({ route, tookMs }) => inference.served(route, undefined, 0, inference.outputIn(route, tookMs)),
  });
  if (tried === undefined) return;

  const { route, tookMs, success } = tried;
  const { answer, reported, producedBytes } = success;
  const metered = await inference.settlement.settle('completed', inference.served(route, reported, producedBytes));
  inference.measure(route, { kind: 'whole', durationMs: tookMs, output: measuredOutput(metered, producedBytes) });
  const { usage, chargeNusd } = metered;
  answerJson(inference, route, { ...answer, usage: { ...shownUsage(reported, usage), cost: nusdToUsd(chargeNusd) } });
}
