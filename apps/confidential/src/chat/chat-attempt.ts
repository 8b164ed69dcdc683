import { nusdToUsd, type Usage, usageUntil } from '@sotto/money';
import { type Adapter, BufferedReader, type ChatTarget, shownUsage, type UpstreamRequest } from '@sotto/providers';
import { hidesOutput, reasoningOn } from '@sotto/router';
import { type ErrorEnvelope, type ErrorType, errorEnvelope, sseDone, sseFrame } from '@sotto/wire';
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

/** Estimates of the output of one route, for what its provider does not report. */
export interface OutputEstimates {
  /** Output tokens that a byte of text is likely to have. */
  tokensPerByte(): number;
  /** Output tokens that the route may have produced in a silence, given in ms. */
  hiddenTokens(silentMs: number): number;
}

/** Asks for a stream or for one JSON answer. */
export function beginChat(
  question: ChatQuestion,
  context: AttemptContext,
  estimates: OutputEstimates,
): AttemptRun<Output> {
  const { route, provider, identity } = context;
  const request = provider.adapter.chatRequest(question.chatFor(route), chatTarget(question, context));
  if ('unsupported' in request) return unsupportedAttempt(request);
  const reading = {
    identity: { id: `chatcmpl-${identity.id}`, created: identity.created, model: route.modelId },
    stripReasoning: question.stripReasoning,
  };
  const call = { ...context, question, request, reading };
  return question.chat.stream === true ? streamedChat(call, estimates) : wholeChat(call, estimates);
}

export const eventStream = 'text/event-stream; charset=utf-8';

/** Returns what differs between the routes of a chat request. */
const chatTarget = (question: ChatQuestion, { route, provider: { entry } }: AttemptContext): ChatTarget => ({
  upstreamModel: route.upstreamModel,
  // The hold was computed from the same bounds, so a provider that keeps to them never exceeds it.
  maxOutputTokens: question.bounds(route).completionTokens,
  reasoning: reasoningOn(route, question.needs),
  dialect: entry.request,
  extraBody: { ...question.parametersFor(route.publicProviderId), ...entry.request.extra_body },
});

function streamedChat(
  { question, route, provider: { adapter, upstream }, limits, identity: { requestId }, request, reading }: ChatCall,
  estimates: OutputEstimates,
): AttemptRun<StreamedOutput> {
  const mayHide = hidesOutput(route, question.needs);
  return beginFlowing({
    ...{ upstream, request },
    open: (onStart) => new StreamAttempt({ adapter, limits, onStart, reader: adapter.openChatStream(reading) }),
    success: (attempt) => ({
      stream: {
        attempt,
        contentType: eventStream,
        // Text comes in small pieces, so a client that does not take them at once holds the stream back.
        heldBackFromMs: 0,
        hidesOutput: mayHide,
        takesComments: true,
      },
      served({ end, tookMs, silentMs }) {
        const producedBytes = attempt.takenBytes ?? attempt.reader.producedBytes;
        const reported = paidUsage(attempt, mayHide, estimates);
        const output =
          reported !== undefined
            ? { reported, producedBytes }
            : {
                producedBytes,
                tokensPerByte: estimates.tokensPerByte(),
                // If the provider completes its answer without usage, assume that it showed all of its output.
                hiddenTokens: end === 'complete' ? 0 : estimates.hiddenTokens(tookMs + silentMs),
              };
        return { ...servedByTokens(question, route, output), firstTokenMs: tookMs };
      },
      lastFrames(end, { usage, chargeNusd }) {
        const { id, created, model } = reading.identity;
        const chunk = { id, object: 'chat.completion.chunk', created, model, system_fingerprint: '' };
        if (end !== 'complete') return errorFrame(errorEnvelope(endErrors[end], requestId));
        if (question.chat.stream_options?.include_usage !== true) return sseDone;
        const shown = { ...shownUsage(attempt.reported, usage), cost: nusdToUsd(chargeNusd) };
        return frame({ ...chunk, choices: [], usage: shown }) + sseDone;
      },
      measured: ({ end, tookMs, flowMs, heldBackMs }, metered) => ({
        ...{ kind: 'streamed', end, ttftMs: tookMs, flowMs, heldBackMs },
        output: measuredOutput(metered, { bytes: attempt.reader.producedBytes, mayHide }),
      }),
    }),
  });
}

/**
 * The last frame of a stream that ends with an error. It has no `choices`, because some clients take a chunk with a finish reason for
 * the end of a whole answer.
 */
export const errorFrame = ({ error }: ErrorEnvelope): string => frame({ error });

const frame = (chunk: object): string => sseFrame(JSON.stringify(chunk));

/**
 * Returns the part of the provider's usage that the client pays for. If it left in the middle, the provider may have
 * worked on while its usage was awaited.
 */
function paidUsage(
  { reported, takenBytes, reader }: StreamAttempt,
  mayHide: boolean,
  estimates: OutputEstimates,
): Usage | undefined {
  if (reported === undefined || takenBytes === undefined) return reported?.usage;
  const { completionTokens, reasoningTokens } = reported.usage;
  const coveredBytes = reader.reportedAtBytes;
  // Some providers do not say how much was reasoning, and some show it, so it is also what the text does not explain.
  const unexplained = Math.max(0, completionTokens - Math.ceil(coveredBytes * estimates.tokensPerByte()));
  const hiddenTokens = mayHide ? Math.min(reasoningTokens || completionTokens, unexplained) : 0;
  return usageUntil(reported.usage, { takenBytes, coveredBytes, hiddenTokens });
}

const providerBroke = {
  message: 'The provider broke off in the middle of the answer, which is incomplete.',
  type: 'provider_error',
} as const;
const wentAway = 'The service is being restarted and had to break off in the middle of the answer';
/** The error in the last frame of a broken stream. */
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

function wholeChat(
  { question, route, provider, limits, request, reading }: ChatCall,
  estimates: OutputEstimates,
): AttemptRun<WholeOutput> {
  const { adapter, upstream } = provider;
  return beginWhole({
    ...{ adapter, upstream, request, limits, maxBytes },
    reader: new BufferedReader((body) => adapter.readChat(body, reading)),
    success: ({ answer, reported, producedBytes }) => ({
      served: () =>
        servedByTokens(question, route, {
          ...{ reported: reported?.usage, producedBytes },
          ...(reported === undefined ? { tokensPerByte: estimates.tokensPerByte() } : {}),
        }),
      pieces({ usage, chargeNusd }) {
        const shown = { ...shownUsage(reported, usage), cost: nusdToUsd(chargeNusd) };
        return [JSON.stringify({ ...answer, usage: shown })];
      },
      measured: ({ tookMs }, metered) => ({
        kind: 'whole',
        durationMs: tookMs,
        output: measuredOutput(metered, { bytes: producedBytes, mayHide: hidesOutput(route, question.needs) }),
      }),
    }),
  });
}
