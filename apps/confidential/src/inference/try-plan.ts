import type { Route } from '@sotto/router';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { KeepAlive } from '../answers/keep-alive.ts';
import { type Tried, type TryRoutesOptions, tryRoutes } from '../attempts/try-routes.ts';
import { RequestReceipt } from '../receipts/request-receipt.ts';
import type { InferenceDependencies } from './deps.ts';
import { measure } from './measure.ts';
import type { Output } from './operation.ts';
import { reachProvider } from './reach-provider.ts';
import { type Serving, sendHeaders } from './serving.ts';

/** Tries the routes of a request's plan until one has output. Settles nothing. */
export async function tryPlan<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  serving: Serving<Question>,
): Promise<Tried<Output>> {
  const { exchange, operation, question, admission, settlement, client, deadline, log, identity } = serving;
  const receipt = openReceipt(deps, serving);
  // The question has what the attempts need. Fastify would keep the bytes until the answer has left.
  exchange.request.body = undefined;
  const early = earlyHeaders(deps, serving);
  return tryRoutes<Output>({
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
      exchange.providerRequestId = hasEnclave(route) ? `preq_${deps.randomId()}` : undefined;
      const { providerRequestId, receiptSecret } = exchange;
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
      measure(deps, route, { kind: 'failed', outcome }, serving);
      settlement.attemptFailed(route, outcome);
      log.attemptFailed(route, outcome);
    },
  }).finally(() => early?.stop());
}

/** Only these routes end in, or are sealed for, an enclave that the client can ask about. */
const hasEnclave = ({ privacyClass }: Route): boolean => privacyClass === 'tee' || privacyClass === 'e2ee';

/** The headers of a stream that leave before its output. */
interface EarlyHeaders {
  readonly commit: NonNullable<TryRoutesOptions<Output>['commit']>;
  /** Ends the comments that follow the headers. */
  stop(): void;
}

/** Lets the headers of a stream leave before its output, if the deployment wants that. */
function earlyHeaders<Question extends AdmissionQuestion>(
  { pacing: { headersAfterMs: afterMs, keepAliveMs } }: InferenceDependencies,
  serving: Serving<Question>,
): EarlyHeaders | undefined {
  const { exchange, operation, question, client } = serving;
  const answer = afterMs === undefined ? undefined : operation.early?.(question);
  if (answer === undefined || afterMs === undefined) return undefined;
  let keepAlive: KeepAlive | undefined;
  return {
    commit: {
      afterMs,
      onCommit(route) {
        if (client.hasLeft || exchange.reply.sent) return;
        sendHeaders(serving, route, ['content-type', answer.contentType, 'x-accel-buffering', 'no']);
        client.response.flushHeaders();
        keepAlive = new KeepAlive(client, keepAliveMs, () => true);
      },
    },
    stop: () => keepAlive?.stop(),
  };
}

/** Opens the receipt if the client asked for one. From here on it sees what passes. */
function openReceipt(
  deps: InferenceDependencies,
  { exchange, operation, settlement, client }: Serving,
): RequestReceipt | undefined {
  const { request, receiptSecret: secret } = exchange;
  if (secret === undefined) return undefined;
  const receipt = new RequestReceipt(deps.receipts, {
    secret,
    operation: operation.name,
    body: request.body,
    billed: () => settlement.bill,
    patience: settlement.patience,
  });
  exchange.witness = receipt;
  client.witness = receipt;
  receipt.follow(client.response);
  return receipt;
}
