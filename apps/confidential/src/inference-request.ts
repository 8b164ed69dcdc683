import type { Metered } from '@sotto/money';
import type { ReportedUsage, Upstream } from '@sotto/providers';
import { type AttemptEnd, type MeasuredOutput, measureAttempt, type Route } from '@sotto/router';
import type { RequestTrace } from '@sotto/tracing';
import { headerNames, type Operation } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Admission, type AdmissionQuestion, admit } from './admission/admit.ts';
import { refusalOf, servedByTicket } from './admission/credential-first.ts';
import { completeRefusal, type Known, tell } from './admission/refusal.ts';
import { rateHeaders, routeHeaders } from './answers/router-headers.ts';
import type { AttemptFailure } from './attempts/attempt.ts';
import { ClientLink } from './attempts/client-link.ts';
import type { Deadline } from './attempts/deadline.ts';
import {
  type AbandonedAttempt,
  type AttemptRun,
  type TriedAndServed,
  type TryRoutesOptions,
  tryRoutes,
} from './attempts/try-routes.ts';
import type { InferenceDependencies } from './deps.ts';
import type { CallableProvider } from './providers/provider-set.ts';
import { readReceiptSecret } from './receipts/receipt-secret.ts';
import { RequestReceipt } from './receipts/request-receipt.ts';
import { RequestSettlement, type Served, settledOnce } from './settlement/request-settlement.ts';
import { throughEnclave } from './tee/through-enclave.ts';

/**
 * One inference request from admission to settlement. The operation brings how to ask a provider and how to answer the
 * client. This class has the steps that all operations share.
 */
export class InferenceRequest {
  readonly deps: InferenceDependencies;
  readonly operation: Operation;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly admission: Admission;
  readonly question: AdmissionQuestion;
  readonly client: ClientLink;
  readonly deadline: Deadline;
  readonly settlement: RequestSettlement;
  readonly #receipt: RequestReceipt | undefined;
  readonly #trace: RequestTrace | undefined;
  /** Since when the present attempt is under way. */
  #attemptAt = 0;
  readonly #startedAt: number;
  readonly #arrivedAt: number;
  #providerRequestId: string | undefined;
  #lastFailed: Route | undefined;
  attempts = 0;

  private constructor(
    deps: InferenceDependencies,
    operation: Operation,
    context: {
      request: FastifyRequest;
      reply: FastifyReply;
      admission: Admission;
      question: AdmissionQuestion;
      settlement: RequestSettlement;
      receiptSecret: string | undefined;
      trace: RequestTrace | undefined;
      startedAt: number;
      arrivedAt: number;
    },
  ) {
    this.deps = deps;
    this.operation = operation;
    this.request = context.request;
    this.reply = context.reply;
    this.admission = context.admission;
    this.question = context.question;
    this.#startedAt = context.startedAt;
    this.#arrivedAt = context.arrivedAt;
    this.#trace = context.trace;
    this.client = new ClientLink(context.reply.raw);
    const [first] = context.admission.attempts;
    this.deadline = deps.deadlines.open(first === undefined ? 0 : context.question.totalMs(first));
    this.settlement = context.settlement;
    const { receiptSecret: secret } = context;
    // Nothing is hashed, and nothing stands between, where no receipt is asked for.
    if (secret !== undefined) {
      const billed = () => this.settlement.bill;
      this.#receipt = new RequestReceipt(deps.receipts, { secret, operation, body: context.request.body, billed });
      this.#receipt.follow(this.client.response, this.settlement.patience);
    }
  }

  /** Admits a request and serves it. `read` parses the body; `serve` runs the attempts and answers. */
  static async run<Question extends AdmissionQuestion>(
    deps: InferenceDependencies,
    operation: Operation,
    http: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly ticketOnly?: string },
    read: () => Question,
    serve: (inference: InferenceRequest, question: Question) => Promise<void>,
  ): Promise<void> {
    const startedAt = deps.now();
    const arrivedAt = deps.monotonicNow();
    const trace = deps.traces?.begin(operation, startedAt);
    const at = (): number => startedAt + deps.monotonicNow() - arrivedAt;
    let receiptSecret: string | undefined;
    const { request, ticketOnly = servedByTicket[operation] } = http;
    const asked = { request, ticketOnly };
    const known: Known = {};
    const reading = () => {
      receiptSecret = readReceiptSecret(request.headers);
      return read();
    };
    const admitted = await admit(deps.admission, asked, { read: reading, known }).catch(async (error: unknown) => {
      const refused = await completeRefusal(deps.admission, asked, { reply: http.reply, known, error });
      trace?.end({ operation, ...refusalOf(refused) }, at());
      throw refused;
    });
    // The money is held from here on: all that follows is within.
    await settledOnce(new RequestSettlement(deps.settlement, admitted.admission, operation), async (settlement) => {
      deps.meter.admitted(operation, deps.monotonicNow() - arrivedAt);
      trace?.step('admission', startedAt, at());
      const context = { ...http, ...admitted, settlement, receiptSecret, trace, startedAt, arrivedAt };
      const inference = new InferenceRequest(deps, operation, context);
      try {
        await serve(inference, admitted.question);
      } catch (error) {
        // Once the answer has begun nobody else can end it: a client must not wait for a rest that will not come.
        if (http.reply.sent && !http.reply.raw.writableEnded) http.reply.raw.destroy();
        if (!http.reply.sent) inference.#tellRefused();
        trace?.end({ operation, attempts: inference.attempts, ...refusalOf(error) }, at());
        throw error;
      } finally {
        inference.deadline.clear();
        inference.client.onLeft(undefined);
      }
    });
  }

  /**
   * Runs the plan's attempts with the bookkeeping that every operation shares. `abandoned` estimates what a provider
   * did for a client that left before any output. Undefined where the client has left, which is settled and logged
   * then; throws the caller's error where no route served.
   */
  async try<Success>(
    attempt: TryRoutesOptions<Success>['attempt'],
    abandoned: (attempt: AbandonedAttempt) => Served,
  ): Promise<TriedAndServed<Success> | undefined> {
    const tried = await tryRoutes({
      routes: this.admission.attempts,
      encrypted: this.question.needs.encrypted,
      providers: this.deps.providers,
      client: this.client,
      deadline: this.deadline,
      now: this.deps.now,
      monotonicNow: this.deps.monotonicNow,
      attempt: (route, provider, hasSuccessor) =>
        this.#through(route, provider, (reached) => attempt(route, reached, hasSuccessor)),
      onAttempt: (count) => {
        this.attempts = count;
        this.#attemptAt = this.#at();
        this.settlement.attempts = count;
      },
      onFailed: (route, failure, startedAt) => {
        this.#lastFailed = route;
        this.#attemptFailed(route, failure, startedAt);
      },
    });
    if (tried.end === 'served') {
      this.deps.meter.attempted(tried.route.publicProviderId, 'served');
      return tried;
    }
    if (tried.end === 'client_left') {
      await this.settlement.settle('client_left_before_output', tried.abandoned && abandoned(tried.abandoned));
      this.logged(499, undefined, 'client_left');
      return undefined;
    }
    const { spent } = tried;
    if (spent === undefined) await this.settlement.settle('no_output', undefined);
    else await this.settlement.settle('answer_too_large', spent);
    throw tried.error;
  }

  /** An attempt as its route's class asks for: on a `tee` route into a verified enclave, with its receipt where there is one. */
  #through<Success>(
    route: Route,
    provider: CallableProvider,
    begin: (provider: CallableProvider) => AttemptRun<Success>,
  ): AttemptRun<Success> {
    this.#providerRequestId = undefined;
    if (route.privacyClass !== 'tee' && route.privacyClass !== 'e2ee') {
      return begin(
        this.#receipt === undefined ? provider : { ...provider, upstream: this.#witnessed(route, provider.upstream) },
      );
    }
    const id = `preq_${this.deps.randomId()}`;
    this.#providerRequestId = id;
    const watched = (upstream: Upstream, sessionId: string | undefined): CallableProvider => ({
      ...provider,
      upstream: this.deps.providerReceipts.watch(
        { id, route, provider, sessionId },
        this.#witnessed(route, upstream, sessionId),
      ),
    });
    // What is encrypted to the enclave needs no connection that ends in it.
    if (route.privacyClass === 'e2ee') return begin(watched(provider.upstream, undefined));
    return throughEnclave(this.deps.enclaves, { route, provider }, ({ upstream, sessionId }) =>
      begin(watched(upstream, sessionId)),
    );
  }

  /** The first byte limit of an attempt: none for the last candidate, which may think for long. */
  limitsOf(timeouts: { readonly first_byte_ms: number; readonly idle_ms: number }, hasSuccessor: boolean) {
    return { firstByteMs: hasSuccessor ? timeouts.first_byte_ms : undefined, idleMs: timeouts.idle_ms };
  }

  /** What the meter is told of a serving route. */
  served(route: Route, reported: ReportedUsage | undefined, producedBytes: number, hiddenTokens = 0): Served {
    const promptTokens = this.question.size.promptTokensLikely;
    const counted = { promptTokens, producedBytes, hiddenTokens };
    return { route, reported: reported?.usage, counted, bounds: this.question.bounds(route) };
  }

  /** An estimate of the output tokens that a route produces in a time in which it shows none. */
  outputIn(route: Route, silentMs: number): number {
    return Math.round((this.deps.admission.view.tokensPerSecond(route) * silentMs) / 1000);
  }

  /** Counts what an attempt says about its route, if anything. */
  measure(route: Route, end: AttemptEnd): void {
    const measured = measureAttempt(end);
    if (measured !== undefined) this.deps.measurements.add(route.id, measured);
  }

  /** Begins a successful answer: takes it out of Fastify's hands and sends its headers, the service's own first. */
  beginAnswer(route: Route, ...headers: readonly string[]): void {
    this.deps.meter.answering(this.operation, this.deps.monotonicNow() - this.#arrivedAt);
    // What follows is the answer itself, which the whole request's span has.
    const provider = route.publicProviderId;
    this.#trace?.step('attempt', this.#attemptAt, this.#at(), { provider, outcome: 'served' });
    this.reply.hijack();
    this.client.response.writeHead(200, [
      ...rateHeaders(this.admission.rate),
      ...routeHeaders(this.admission.plan, route, this.attempts),
      ...(this.#providerRequestId === undefined ? [] : [headerNames.providerRequestId, this.#providerRequestId]),
      'x-request-id',
      this.request.id,
      'cache-control',
      'no-store',
      ...headers,
    ]);
  }

  /** The one log line of a request that was admitted. */
  logged(status: number, route: Route | undefined, error?: string): void {
    const { operation, attempts } = this;
    this.#trace?.end({ operation, status, attempts, ...(error === undefined ? {} : { error }) }, this.#at());
    this.deps.events.request({
      requestId: this.request.id,
      operation: this.operation,
      status,
      error,
      route: route?.id,
      attempts: this.attempts,
      durationMs: this.deps.now() - this.#startedAt,
    });
  }

  /** Unix ms with fractions: the time of day at which the request came, and what has passed since. */
  #at(): number {
    return this.#startedAt + this.deps.monotonicNow() - this.#arrivedAt;
  }

  /** An upstream that the receipt, where one was asked for, hears of. */
  #witnessed(route: Route, upstream: Upstream, sessionId?: string): Upstream {
    return this.#receipt?.witness(upstream, route, sessionId) ?? upstream;
  }

  /** Sets what the answer of a request that was admitted and failed tells beside its error. */
  #tellRefused(): void {
    const { plan, attempts, rate, right } = this.admission;
    const route = this.#lastFailed ?? attempts[0];
    tell(this.reply, { rate, ...(route === undefined ? {} : { chosen: { plan, route } }) });
    // The OpenAI SDKs would send the spent ticket again, and show their caller its refusal in place of this error.
    if (right.kind === 'ticket') this.reply.header('x-should-retry', 'false');
  }

  #attemptFailed(route: Route, failure: AttemptFailure, startedAt: number): void {
    const { view } = this.deps.admission;
    view.punish(failure.outcome, route, startedAt);
    this.measure(route, { kind: 'failed', outcome: failure.outcome });
    const { publicProviderId: provider } = route;
    this.deps.meter.attempted(provider, failure.outcome);
    this.#trace?.step('attempt', this.#attemptAt, this.#at(), { provider, outcome: failure.outcome });
    this.deps.events.attemptFailed({ requestId: this.request.id, route: route.id, outcome: failure.outcome });
  }
}

/** What an answer's speed is measured by. */
export const measuredOutput = ({ usage, estimated }: Metered, bytes: number): MeasuredOutput => ({
  tokens: estimated ? undefined : usage.completionTokens,
  reasoningTokens: usage.reasoningTokens,
  bytes,
});
