import { type Admission, type AdmissionQuestion, type Admitted, admit } from '../admission/admit.ts';
import type { Exchange } from '../admission/exchange.ts';
import { completeRefusal } from '../admission/refusal.ts';
import { ClientLink } from '../answers/client-link.ts';
import { readReceiptSecret } from '../receipts/receipt-secret.ts';
import { RequestSettlement, settledOnce } from '../settlement/request-settlement.ts';
import type { InferenceDependencies } from './deps.ts';
import { abandon, refuse, sendAnswer, streamAnswer } from './end-request.ts';
import type { Operation } from './operation.ts';
import { RequestLog } from './request-log.ts';
import type { Serving } from './serving.ts';
import { tryPlan } from './try-plan.ts';

/**
 * Serves one request of an operation: admit, try, stream, settle, close, measure, log. Throws the caller's error if the
 * request is refused or no route served it.
 */
export async function run<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  operation: Operation<Question>,
  exchange: Exchange,
): Promise<void> {
  const { request, reply } = exchange;
  const log = new RequestLog(deps, operation.name, request);
  const { admission, question } = await admitExchange(deps, operation, exchange).catch((error: unknown) => {
    log.refused(error);
    throw error;
  });
  // From here on money is held, so everything that follows runs within `settledOnce`.
  await settledOnce(new RequestSettlement(deps.settlement, admission, operation.name), async (settlement) => {
    log.admitted();
    const client = new ClientLink(reply.raw);
    const deadline = deps.deadlines.open(totalMs(deps, admission));
    const identity = { id: deps.randomId(), created: Math.floor(deps.now() / 1000), requestId: request.id };
    const serving = { exchange, operation, question, admission, settlement, log, client, deadline, identity };
    try {
      await serve(deps, serving);
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
  exchange: Exchange,
): Promise<Admitted<Question>> {
  const { request } = exchange;
  const read = (): Question => {
    exchange.receiptSecret = readReceiptSecret(request.headers);
    return operation.read(request);
  };
  return admit(deps.admission, exchange, { accepts: operation, read }).catch(async (error: unknown) => {
    throw await completeRefusal(deps.admission, exchange, { accepts: operation, error });
  });
}

/** The total time of the request, in ms, as the first provider of its plan allows. */
const totalMs = ({ providers }: InferenceDependencies, { attempts: [first] }: Admission): number =>
  (first && providers.get(first.providerId)?.entry.timeouts.total_ms) ?? 600_000;

/** Tries the plan of an admitted request, and ends the request as that turned out. */
async function serve<Question extends AdmissionQuestion>(
  deps: InferenceDependencies,
  serving: Serving<Question>,
): Promise<void> {
  const tried = await tryPlan(deps, serving);
  switch (tried.end) {
    case 'served': {
      const { success } = tried;
      const isWhole = success.stream === undefined || success.isWhole === true;
      serving.log.attemptServed(tried.route, isWhole ? 'whole' : 'streamed', tried.tookMs);
      // An attempt that has output is the last one. A long stream must not keep its long prompt in memory.
      serving.question.forget();
      serving.exchange.freeMemory();
      return success.stream === undefined
        ? sendAnswer(deps, serving, { ...tried, success })
        : streamAnswer(deps, serving, { ...tried, success });
    }
    case 'refused':
      return refuse(serving, tried);
    case 'client_left':
      return abandon(serving, tried);
    default:
      return tried satisfies never;
  }
}

/** Cleans up after an error: cuts off an answer that has begun, or sets the headers on one that has not. */
function fail({ exchange, admission, log }: Serving, error: unknown): void {
  const { reply } = exchange;
  // Nothing else can end an answer that has begun. Its client must not wait for a rest that will not come.
  if (reply.sent && !reply.raw.writableEnded) reply.raw.destroy();
  if (!reply.sent) {
    const { plan, attempts, rate, right } = admission;
    const route = log.lastFailed ?? attempts[0];
    exchange.rate = rate;
    exchange.chosen = route && { plan, route };
    exchange.setFactHeaders();
    // Otherwise the OpenAI SDKs would send the spent ticket again and show its refusal instead of this error.
    if (right.kind === 'ticket') reply.header('x-should-retry', 'false');
  }
  log.refused(error);
}
