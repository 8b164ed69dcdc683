import { nusdToUsd } from '@sotto/money';
import {
  type Adapter,
  BufferedReader,
  type ChatStreamReader,
  type ChatTarget,
  type ReportedUsage,
  shownUsage,
  type UpstreamRequest,
} from '@sotto/providers';
import { hidesOutput, outputCeiling, reasoningOn } from '@sotto/router';
import { type ErrorType, errorEnvelope, sseDone, sseFrame } from '@sotto/wire';
import type { StreamEnd } from '../answers/stream-to-client.ts';
import { beginFlowing, beginWhole } from '../attempts/begin-attempt.ts';
import { type AttemptRun, unsupportedAttempt } from '../attempts/try-routes.ts';
import {
  type AttemptContext,
  measuredOutput,
  type Output,
  type StreamedOutput,
  type WholeOutput,
} from '../inference/operation.ts';
import { servedByTokens } from '../settlement/served.ts';
import type { ChatQuestion } from './chat-question.ts';
import { StreamAttempt } from './stream-attempt.ts';

/** One attempt at a chat request: what the provider is asked, and how its answer is read. */
interface ChatCall extends AttemptContext {
  readonly question: ChatQuestion;
  readonly request: UpstreamRequest;
  readonly reading: Parameters<Adapter['openChatStream']>[0];
}

/** Asks for a stream or for one JSON answer. `hiddenTokens` estimates the output of a silence, given in ms. */
export function beginChat(
  question: ChatQuestion,
  context: AttemptContext,
  hiddenTokens: (silentMs: number) => number,
): AttemptRun<Output> {
  const { route, provider, identity } = context;
  const request = provider.adapter.chatRequest(question.chatFor(route), chatTarget(question, context));
  if ('unsupported' in request) return unsupportedAttempt(request);
  const reading = {
    identity: { id: `chatcmpl-${identity.id}`, created: identity.created, model: route.modelId },
    stripReasoning: question.stripReasoning,
  };
  const call = { ...context, question, request, reading };
  return question.chat.stream === true ? streamedChat(call, hiddenTokens) : wholeChat(call);
}

/** Returns what differs between the routes of a chat request. */
const chatTarget = (question: ChatQuestion, { route, provider: { entry } }: AttemptContext): ChatTarget => ({
  upstreamModel: route.upstreamModel,
  maxOutputTokens: outputCeiling(route, question.size),
  reasoning: reasoningOn(route, question.needs),
  dialect: entry.request,
  extraBody: { ...question.parametersFor(route.publicProviderId), ...entry.request.extra_body },
});

function streamedChat(
  { question, route, provider: { adapter, upstream }, limits, identity: { requestId }, request, reading }: ChatCall,
  hiddenTokens: (silentMs: number) => number,
): AttemptRun<StreamedOutput> {
  return beginFlowing({
    ...{ upstream, request },
    open: (onStart) => new StreamAttempt({ adapter, limits, onStart, reader: adapter.openChatStream(reading) }),
    success: (attempt) => ({
      stream: {
        attempt,
        contentType: 'text/event-stream; charset=utf-8',
        // Text comes in small pieces, so a client that does not take them at once holds the stream back.
        heldBackFromMs: 0,
        hidesOutput: hidesOutput(route, question.needs),
      },
      served({ end, tookMs, silentMs }) {
        const { producedBytes } = attempt.reader;
        return servedByTokens(question, route, {
          reported: usageOf(attempt.reader),
          producedBytes,
          // If the provider completes its answer without usage, assume that it showed all of its output.
          hiddenTokens: end === 'complete' ? 0 : hiddenTokens(tookMs + silentMs),
        });
      },
      lastFrames(end, { usage, chargeNusd }) {
        const { id, created, model } = reading.identity;
        const chunk = { id, object: 'chat.completion.chunk', created, model };
        if (end !== 'complete') {
          const { error } = errorEnvelope(endErrors[end], requestId);
          return frame({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'error' }], error });
        }
        if (question.chat.stream_options?.include_usage !== true) return sseDone;
        const shown = { ...shownUsage(usageOf(attempt.reader), usage), cost: nusdToUsd(chargeNusd) };
        return frame({ ...chunk, choices: [], usage: shown }) + sseDone;
      },
      measured: ({ end, tookMs, flowMs, heldBackMs }, metered) => ({
        ...{ kind: 'streamed', end, ttftMs: tookMs, flowMs, heldBackMs },
        output: measuredOutput(metered, attempt.reader.producedBytes),
      }),
    }),
  });
}

const frame = (chunk: object): string => sseFrame(JSON.stringify(chunk));

/**
 * Returns the provider's usage if it covers everything that was produced. Some providers send a usage with the first
 * piece. By that, a client that left before the last one would have the answer for free.
 */
const usageOf = ({ reported, reportedAtBytes, producedBytes }: ChatStreamReader): ReportedUsage | undefined =>
  reportedAtBytes < producedBytes ? undefined : reported;

const providerBroke = {
  message: 'The provider broke off in the middle of the answer, which is incomplete.',
  type: 'provider_error',
} as const;
const wentAway = 'The service is being restarted and had to break off in the middle of the answer';
/** The error in the last frame of a broken stream. No terminator follows it. */
const endErrors: Readonly<
  Record<Exclude<StreamEnd, 'complete' | 'client_left'>, { readonly message: string; readonly type: ErrorType }>
> = {
  broke: providerBroke,
  broke_while_held_back: providerBroke,
  out_of_time: {
    message: 'The time for this request ran out in the middle of the answer, which is incomplete.',
    type: 'provider_timeout',
  },
  shut_down: { message: `${wentAway}, which is incomplete and not charged.`, type: 'service_unavailable' },
  shut_down_while_held_back: { message: `${wentAway}, which is incomplete.`, type: 'service_unavailable' },
};

const maxBytes = 64 * 1024 * 1024;

function wholeChat({ question, route, provider, limits, request, reading }: ChatCall): AttemptRun<WholeOutput> {
  const { adapter, upstream } = provider;
  return beginWhole({
    ...{ adapter, upstream, request, limits, maxBytes },
    reader: new BufferedReader((body) => adapter.readChat(body, reading)),
    success: ({ answer, reported, producedBytes }) => ({
      served: () => servedByTokens(question, route, { reported, producedBytes }),
      pieces({ usage, chargeNusd }) {
        const shown = { ...shownUsage(reported, usage), cost: nusdToUsd(chargeNusd) };
        return [JSON.stringify({ ...answer, usage: shown })];
      },
      measured: ({ tookMs }, metered) => ({
        kind: 'whole',
        durationMs: tookMs,
        output: measuredOutput(metered, producedBytes),
      }),
    }),
  });
}
