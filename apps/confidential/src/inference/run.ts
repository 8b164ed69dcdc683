import { type AttemptEnd, measureAttempt, type Route } from '@sotto/router';
import { headerNames } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Admission, type AdmissionQuestion, admit } from '../admission/admit.ts';
import { completeRefusal, type Known, tell } from '../admission/refusal.ts';
import { ClientLink } from '../answers/client-link.ts';
import { KeepAlive } from '../answers/keep-alive.ts';
import { rateHeaders, routeHeaders } from '../answers/router-headers.ts';
import { sendWhole } from '../answers/send-whole.ts';
import { requestEnds, type StreamFlow, streamToClient } from '../answers/stream-to-client.ts';
import type { Deadline } from '../attempts/deadline.ts';
import { type TriedAndServed, type TryRoutesOptions, tryRoutes } from '../attempts/try-routes.ts';
import { readReceiptSecret } from '../receipts/receipt-secret.ts';
import { RequestReceipt } from '../receipts/request-receipt.ts';
import { RequestSettlement, settledOnce } from '../settlement/request-settlement.ts';
import type { InferenceDependencies } from './deps.ts';
import type { EarlyAnswer, Operation, Output } from './operation.ts';
import { reachProvider } from './reach-provider.ts';
import { RequestLog } from './request-log.ts';

/** A request and its reply. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Called as soon as nothing refers to the request's content any more. */
  readonly freeMemory: () => void;
}

/**
 * Serves one request of an operation: admit, try, stream, settle, close, measure, log. Throws the caller's error if the
 * request is refused or no route served it.
 */
export async function run<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  operation: Operation<Question>,
  exchange: Exchange,
): Promise<void> {
  const log = new RequestLog(deps, operation.name, exchange.request.id);
  const admitted = await admitExchange(deps, operation, exchange).catch((error: unknown) => {
    log.refused(error);
    throw error;
  });
  // From here on money is held, so everything that follows runs within `settledOnce`.
  await settledOnce(new RequestSettlement(deps.settlement, admitted.admission, operation.name), async (settlement) => {
    log.admitted();
    const client = new ClientLink(exchange.reply.raw);
    const deadline = deps.deadlines.open(totalMs(deps, admitted.admission));
    const serving = { ...exchange, ...admitted, operation, settlement, log, client, deadline };
    try {
      const tried = await tryPlan(deps, serving);
      // An attempt that has output is the last one. A long stream must not keep its long prompt in memory.
      serving.question.forget();
      exchange.freeMemory();
      if (tried !== undefined) await answer(deps, serving, tried);
    } catch (error) {
      fail(serving, error);
      throw error;
    } finally {
      deadline.clear();
      client.onLeft(undefined);
    }
  });
}

/** Places the hold. A refusal tells, beside its error, the facts that the broker knew. */
async function admitExchange<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  operation: Operation<Question>,
  { request, reply }: Exchange,
) {
  const known: Known = {};
  const asked = { request, ticketOnly: operation.ticketOnly };
  let receiptSecret: string | undefined;
  const read = (): Question => {
    receiptSecret = readReceiptSecret(request.headers);
    return operation.read(request);
  };
  const admitted = await admit(deps.admission, asked, { read, known }).catch(async (error: unknown) => {
    throw await completeRefusal(deps.admission, asked, { reply, known, error });
  });
  return { ...admitted, receiptSecret };
}

/** An admitted request, with everything that accompanies it to its end. */
interface Serving<Question extends AdmissionQuestion> extends Exchange {
  readonly operation: Operation<Question>;
  readonly question: Question;
  readonly admission: Admission;
  readonly receiptSecret: string | undefined;
  readonly settlement: RequestSettlement;
  readonly log: RequestLog;
  readonly client: ClientLink;
  readonly deadline: Deadline;
}

/** The total time of the request, in ms, as the first provider of its plan allows. */
const totalMs = ({ providers }: InferenceDependencies, { attempts: [first] }: Admission): number =>
  (first && providers.get(first.providerId)?.entry.timeouts.total_ms) ?? 600_000;

/** The attempt that has output. */
interface Tried extends TriedAndServed<Output> {
  readonly providerRequestId: string | undefined;
  /** Whether the headers have left. */
  readonly hasHeaders: boolean;
}

/** The headers of a stream that leave before its output, if the deployment wants that. */
interface EarlyHeaders {
  readonly answer: EarlyAnswer;
  readonly commit: NonNullable<TryRoutesOptions<Output>['commit']>;
  /** The committed route. Undefined: the headers have not left. */
  route: Route | undefined;
  keepAlive: KeepAlive | undefined;
}

function headersAfter<Question extends AdmissionQuestion>(
  { pacing: { headersAfterMs: afterMs, keepAliveMs } }: InferenceDependencies,
  serving: Serving<Question>,
  providerRequestId: () => string | undefined,
): EarlyHeaders | undefined {
  const { operation, question, client } = serving;
  const answer = afterMs === undefined ? undefined : operation.early?.(question);
  if (answer === undefined || afterMs === undefined) return undefined;
  const early: EarlyHeaders = {
    answer,
    route: undefined,
    keepAlive: undefined,
    commit: {
      afterMs,
      onCommit(route) {
        if (client.hasLeft || serving.reply.sent) return;
        early.route = route;
        sendHeaders(serving, { route, providerRequestId: providerRequestId() }, [
          ...['content-type', answer.contentType, 'x-accel-buffering', 'no'],
        ]);
        client.response.flushHeaders();
        early.keepAlive = new KeepAlive(client, keepAliveMs, () => true);
      },
    },
  };
  return early;
}

function sendHeaders(
  serving: Serving<AdmissionQuestion>,
  { route, providerRequestId }: { readonly route: Route; readonly providerRequestId: string | undefined },
  headers: readonly string[],
): void {
  serving.log.answering(route);
  serving.reply.hijack();
  serving.client.response.writeHead(200, [...answerHeaders(serving, route, providerRequestId), ...headers]);
}

/**
 * Tries the routes of the plan. Undefined if the client has left; this is then settled and logged. Throws the caller's
 * error if no route served.
 */
async function tryPlan<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  serving: Serving<Question>,
): Promise<Tried | undefined> {
  const { request, operation, question, admission, settlement, client, deadline, log, receiptSecret } = serving;
  const receipt = openReceipt(deps, serving);
  // The question has what the attempts need. Fastify would keep the bytes until the answer has left.
  request.body = undefined;
  const identity = { id: deps.randomId(), created: Math.floor(deps.now() / 1000), requestId: request.id };
  let providerRequestId: string | undefined;
  const early = headersAfter(deps, serving, () => providerRequestId);
  const tried = await tryRoutes<Output>({
    routes: admission.attempts,
    encrypted: question.needs.encrypted,
    providers: deps.providers,
    client,
    deadline,
    now: deps.now,
    monotonicNow: deps.monotonicNow,
    commit: early?.commit,
    attempt(route, provider, limits) {
      settlement.lastTried = route;
      providerRequestId = hasEnclave(route) ? `preq_${deps.randomId()}` : undefined;
      return reachProvider(deps, { route, provider, receipt, providerRequestId, receiptSecret }, (reached) =>
        operation.attempt(question, { route, provider: reached, limits, identity }),
      );
    },
    onAttempt(count) {
      log.attemptBegun(count);
      settlement.attempts = count;
    },
    onFailed(route, { outcome }, startedAt) {
      deps.admission.view.punish(outcome, route, startedAt);
      measure(deps, route, { kind: 'failed', outcome });
      settlement.attemptFailed(route, outcome);
      log.attemptFailed(route, outcome);
    },
  }).finally(() => early?.keepAlive?.stop());
  if (tried.end === 'served') {
    log.attemptServed(tried.route);
    return { ...tried, providerRequestId, hasHeaders: early?.route !== undefined };
  }
  if (tried.end === 'refused') {
    settlement.noOutput = tried.usageError;
    await settlement.settle(tried.spent === undefined ? 'no_output' : 'answer_too_large', tried.spent);
    if (early?.route === undefined) throw tried.error;
    // The status has left. The stream tells the error, and stays free.
    client.breakOff(early.answer.errorFrame(identity, tried.error));
    log.ended(200, early.route, tried.error.type);
    return undefined;
  }
  const abandoned = tried.abandoned && operation.abandoned(question, tried.abandoned);
  await settlement.settle('client_left_before_output', abandoned);
  log.ended(499, undefined, 'client_left');
  return undefined;
}

/** Streams, settles, closes, measures and logs the output of an attempt. */
async function answer<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  serving: Serving<Question>,
  { route, tookMs, success: output, providerRequestId, hasHeaders }: Tried,
): Promise<void> {
  const { settlement, client, deadline, log } = serving;
  const begin = (...headers: readonly string[]): void => {
    if (!hasHeaders) sendHeaders(serving, { route, providerRequestId }, headers);
  };
  if (output.stream === undefined) {
    const timing = { ...wholeFlow, tookMs };
    const metered = await settlement.settle('completed', output.served(timing));
    measure(deps, route, output.measured(timing, metered));
    await sendWhole({ client, begin }, output.pieces(metered));
    return log.ended(200, route);
  }
  const flow = await streamToClient(output.stream, {
    ...{ client, deadline, begin, monotonicNow: deps.monotonicNow },
    keepAliveMs: deps.pacing.keepAliveMs,
  });
  const { end } = flow;
  const timing = { ...flow, tookMs };
  deps.meter.streamed(flow.pieces);
  const isTooLarge = output.isTooLarge?.() === true;
  if (serving.operation.name === 'chat') settlement.firstTokenMs = tookMs;
  const metered = await settlement.settle(isTooLarge ? 'answer_too_large' : requestEnds[end], output.served(timing));
  if (end === 'complete') client.end(output.lastFrames(end, metered));
  else if (end !== 'client_left') client.breakOff(output.lastFrames(end, metered));
  // The client is the cause of an answer that is too large, so it says nothing about the provider.
  if (!isTooLarge) measure(deps, route, output.measured(timing, metered));
  log.ended(200, route, isTooLarge ? 'answer_too_large' : end === 'complete' ? undefined : end);
}

/** Only these routes end in, or are sealed for, an enclave that the client can ask about. */
const hasEnclave = ({ privacyClass }: Route): boolean => privacyClass === 'tee' || privacyClass === 'e2ee';

/** A whole answer flows in no time. */
const wholeFlow: StreamFlow = { end: 'complete', flowMs: 0, heldBackMs: 0, silentMs: 0, pieces: 0 };

/** Cleans up after an error: cuts off an answer that has begun, or sets the headers on one that has not. */
function fail({ reply, admission, log }: Serving<AdmissionQuestion>, error: unknown): void {
  // Nothing else can end an answer that has begun. Its client must not wait for a rest that will not come.
  if (reply.sent && !reply.raw.writableEnded) reply.raw.destroy();
  if (!reply.sent) {
    const { plan, attempts, rate, right } = admission;
    const route = log.lastFailed ?? attempts[0];
    tell(reply, { rate, ...(route === undefined ? {} : { chosen: { plan, route } }) });
    // Otherwise the OpenAI SDKs would send the spent ticket again and show its refusal instead of this error.
    if (right.kind === 'ticket') reply.header('x-should-retry', 'false');
  }
  log.refused(error);
}

/** Counts what an attempt shows about its route, if anything. */
function measure({ measurements }: InferenceDependencies, { id }: Route, end: AttemptEnd): void {
  const measured = measureAttempt(end);
  if (measured !== undefined) measurements.add(id, measured);
}

const receipts = new WeakMap<FastifyRequest, RequestReceipt>();

/** Returns the receipt of an admitted request, if its client asked for one. */
export const receiptOf = (request: FastifyRequest): RequestReceipt | undefined => receipts.get(request);

/** Opens the receipt if the client asked for one. From here on it sees what passes. */
function openReceipt(
  deps: InferenceDependencies,
  { request, operation, receiptSecret: secret, settlement, client }: Serving<AdmissionQuestion>,
): RequestReceipt | undefined {
  if (secret === undefined) return undefined;
  const receipt = new RequestReceipt(deps.receipts, {
    secret,
    operation: operation.name,
    body: request.body,
    billed: () => settlement.bill,
    patience: settlement.patience,
  });
  receipts.set(request, receipt);
  client.witness = receipt;
  receipt.follow(client.response);
  return receipt;
}

/** Returns the service's own headers of a successful answer, as name, value, name, value. */
const answerHeaders = (
  { request, admission, log }: Serving<AdmissionQuestion>,
  route: Route,
  providerRequestId: string | undefined,
): string[] => [
  ...rateHeaders(admission.rate),
  ...routeHeaders(admission.plan, route, log.attempts),
  ...(providerRequestId === undefined ? [] : [headerNames.providerRequestId, providerRequestId]),
  headerNames.requestId,
  request.id,
  'cache-control',
  'no-store',
];
