import type { Route } from '@sotto/router';
import { headerNames } from '@sotto/wire';
import type { Admission, AdmissionQuestion } from '../admission/admit.ts';
import type { Exchange } from '../admission/exchange.ts';
import type { ClientLink } from '../answers/client-link.ts';
import { rateHeaders, routeHeaders } from '../answers/router-headers.ts';
import type { Deadline } from '../attempts/deadline.ts';
import type { RequestSettlement } from '../settlement/request-settlement.ts';
import type { AnswerIdentity, Operation } from './operation.ts';
import type { RequestLog } from './request-log.ts';

/** An admitted request, with everything that accompanies it to its end. */
export interface Serving<Question extends AdmissionQuestion = AdmissionQuestion> {
  readonly exchange: Exchange;
  readonly operation: Operation<Question>;
  readonly question: Question;
  readonly admission: Admission;
  readonly settlement: RequestSettlement;
  readonly log: RequestLog;
  readonly client: ClientLink;
  readonly deadline: Deadline;
  readonly identity: AnswerIdentity;
}

/** Sends the headers of an answer with status 200: the service's own, then these, as name, value, name, value. */
export function sendHeaders(
  { exchange, admission, log, client }: Serving,
  route: Route,
  headers: readonly string[],
): void {
  const { request, reply, providerRequestId } = exchange;
  log.answering();
  reply.hijack();
  client.response.writeHead(200, [
    ...rateHeaders(admission.rate),
    ...routeHeaders(admission.plan, route, log.attempts),
    ...(providerRequestId === undefined ? [] : [headerNames.providerRequestId, providerRequestId]),
    headerNames.requestId,
    request.id,
    'cache-control',
    'no-store',
    ...headers,
  ]);
}
