import type { AdmissionQuestion } from '../admission/admit.ts';
import { sendWhole } from '../answers/send-whole.ts';
import { requestEnds, type StreamFlow, streamToClient } from '../answers/stream-to-client.ts';
import type { Tried, TriedAndServed } from '../attempts/try-routes.ts';
import type { InferenceDependencies } from './deps.ts';
import { measure } from './measure.ts';
import type { Output, StreamedOutput, WholeOutput } from './operation.ts';
import { type Serving, sendHeaders } from './serving.ts';

/** An attempt that has output of one kind. */
type Had<Kind extends Output> = TriedAndServed<Kind>;

/** A whole answer has no stream, so all its times are 0. */
const wholeFlow: StreamFlow = { end: 'complete', flowMs: 0, heldBackMs: 0, silentMs: 0, pieces: 0 };

/** Settles, measures, sends and logs a whole answer. */
export async function sendAnswer(
  deps: InferenceDependencies,
  serving: Serving,
  { route, tookMs, success: output }: Had<WholeOutput>,
): Promise<void> {
  const { settlement, client, log } = serving;
  const timing = { ...wholeFlow, tookMs };
  const metered = await settlement.settle('completed', output.served(timing));
  measure(deps, route, output.measured(timing, metered), serving);
  const begin = (...headers: readonly string[]): void => sendHeaders(serving, route, headers);
  await sendWhole({ client, begin }, output.pieces(metered));
  log.ended(200, route);
}

/** Streams an answer, settles it, sends its last frames, and measures and logs it. */
export async function streamAnswer(
  deps: InferenceDependencies,
  serving: Serving,
  { route, tookMs, success: output }: Had<StreamedOutput>,
): Promise<void> {
  const { exchange, settlement, client, deadline, log } = serving;
  const flow = await streamToClient(output.stream, {
    ...{ client, deadline, monotonicNow: deps.monotonicNow },
    begin(...headers) {
      if (!exchange.reply.sent) sendHeaders(serving, route, headers);
    },
    keepAliveMs: deps.pacing.keepAliveMs,
  });
  const { end } = flow;
  const timing = { ...flow, tookMs };
  // A piece is about a token.
  if (!serving.admission.isQuiet) deps.meter.streamed(flow.pieces);
  const isTooLarge = output.isTooLarge?.() === true;
  const metered = await settlement.settle(isTooLarge ? 'answer_too_large' : requestEnds[end], output.served(timing));
  if (end === 'complete') client.end(output.lastFrames(end, metered));
  else if (end !== 'client_left') client.breakOff(output.lastFrames(end, metered));
  // The client is the cause of an answer that is too large, so it says nothing about the provider.
  if (!isTooLarge) {
    if (end === 'broke') log.brokeOff(route);
    measure(deps, route, output.measured(timing, metered), serving);
  }
  log.ended(200, route, isTooLarge ? 'answer_too_large' : end === 'complete' ? undefined : end);
}

/**
 * Settles a request that no route served. Throws the caller's error, unless the headers have left. Then the error is the
 * stream's last frame, and nothing is charged but what was spent.
 */
export async function refuse<Question extends AdmissionQuestion>(
  { exchange, operation, question, identity, settlement, client, log }: Serving<Question>,
  { error, usageError, providerStatus, spent }: Extract<Tried<Output>, { readonly end: 'refused' }>,
): Promise<void> {
  settlement.noOutput = usageError;
  settlement.providerStatus = providerStatus;
  await settlement.settle(spent === undefined ? 'no_output' : 'answer_too_large', spent);
  if (!exchange.reply.sent) throw error;
  client.breakOff(operation.early?.(question)?.errorFrame(identity, error));
  log.ended(200, settlement.lastTried, error.type);
}

/** Settles and logs a request whose client left before any output. */
export async function abandon<Question extends AdmissionQuestion>(
  { operation, question, settlement, log }: Serving<Question>,
  { abandoned }: Extract<Tried<Output>, { readonly end: 'client_left' }>,
): Promise<void> {
  const served = abandoned && operation.abandoned(question, abandoned);
  await settlement.settle('client_left_before_output', served);
  log.ended(499, undefined, 'client_left');
}
