import type { Route } from '@sotto/router';
import type { InferenceRequest } from '../inference-request.ts';

/** Sends a whole answer with the headers of interface 4.7. Written raw: the answer is final and needs no more hooks. */
export function answerJson(inference: InferenceRequest, route: Route, answer: object): void {
  const body = JSON.stringify(answer);
  const length = String(Buffer.byteLength(body));
  inference.beginAnswer(route, 'content-type', 'application/json; charset=utf-8', 'content-length', length);
  // As text it leaves in one piece with the headers.
  inference.client.response.end(body, 'utf8');
  inference.logged(200, route);
}
