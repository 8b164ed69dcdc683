import type { Route } from '@sotto/router';
import type { InferenceRequest } from '../inference-request.ts';

/** Sends a whole answer with the headers of interface 4.7. Written raw: the answer is final and needs no more hooks. */
export function answerJson(inference: InferenceRequest, route: Route, answer: object): void {
  const { client, reply } = inference;
  const body = JSON.stringify(answer);
  reply.hijack();
  client.response.writeHead(200, [
    ...inference.headers(route),
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
  ]);
  // As text it leaves in one piece with the headers.
  client.response.end(body, 'utf8');
  inference.logged(200, route);
}
