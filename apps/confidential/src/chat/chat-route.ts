import type { IncomingMessage } from 'node:http';
import { readJsonBody } from '@sotto/http';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { credentialFirst } from '../admission/credential-first.ts';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import { runSealedChat, sealedChat } from '../sealed/run-sealed-chat.ts';
import { type ChatQuestion, readChatQuestion } from './chat-question.ts';
import { withExactSeed } from './exact-seed.ts';
import { serveStreamedChat } from './serve-stream.ts';
import { serveWholeChat } from './serve-whole.ts';

/**
 * `POST /v1/chat/completions`, in both flows, whole and streamed. A client that has encrypted its request for a provider's
 * enclave says so in the header `x-router-e2ee`.
 */
export function registerChat(app: FastifyInstance, deps: InferenceDependencies): void {
  // A scope of its own: no other route takes bodies of this type.
  app.register((scope, _options, done) => {
    scope.addContentTypeParser('application/octet-stream', (request, payload: IncomingMessage, read) => {
      if (isSealed(request)) scope.arrivingBodies.read(request, payload, read);
      else read(new ServiceError('unsupported_media_type'));
    });
    const ticketOnlyOf = (request: FastifyRequest) => (isSealed(request) ? sealedChat : undefined);
    scope.post('/v1/chat/completions', credentialFirst(deps, 'chat', ticketOnlyOf), (request, reply) =>
      isSealed(request) ? runSealedChat(deps, { request, reply }) : runChat(deps, { request, reply }),
    );
    done();
  });
}

function readChatBody(bytes: unknown): object {
  const body = readJsonBody(bytes);
  return Buffer.isBuffer(bytes) ? withExactSeed(body, bytes) : body;
}

const isSealed = ({ headers }: FastifyRequest): boolean => headers[headerNames.e2ee] !== undefined;

async function runChat(
  deps: InferenceDependencies,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const read = (): ChatQuestion => readChatQuestion(readChatBody(request.body), deps.providers);
  await InferenceRequest.run(deps, 'chat', { request, reply }, read, (inference, question) =>
    question.chat.stream === true ? serveStreamedChat(inference, question) : serveWholeChat(inference, question),
  );
  return reply;
}
