import { readJsonBody } from '@sotto/http';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import { runSealedChat } from '../sealed/run-sealed-chat.ts';
import { type ChatQuestion, readChatQuestion } from './chat-question.ts';
import { serveStreamedChat } from './serve-stream.ts';
import { serveWholeChat } from './serve-whole.ts';

/**
 * `POST /v1/chat/completions` (interface 2.3), in both flows, whole and streamed; and what a client has encrypted for a
 * provider's enclave (interface 4.2), which says so in the header `x-router-e2ee`.
 */
export function registerChat(app: FastifyInstance, deps: InferenceDependencies): void {
  // A scope of its own: no other route takes bodies of this type.
  app.register((scope, _options, done) => {
    scope.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (request, body, parsed) => {
      if (isSealed(request)) parsed(null, body);
      else parsed(new ServiceError('unsupported_media_type'));
    });
    scope.post('/v1/chat/completions', (request, reply) =>
      isSealed(request) ? runSealedChat(deps, { request, reply }) : runChat(deps, { request, reply }),
    );
    done();
  });
}

const isSealed = ({ headers }: FastifyRequest): boolean => headers[headerNames.e2ee] !== undefined;

async function runChat(
  deps: InferenceDependencies,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  let question: ChatQuestion | undefined;
  const read = (): ChatQuestion => {
    question = readChatQuestion(readJsonBody(request.body), deps.providers);
    return question;
  };
  await InferenceRequest.run(deps, 'chat', { request, reply }, read, async (inference) => {
    if (question === undefined) throw new Error('served without a question');
    if (question.chat.stream === true) await serveStreamedChat(inference, question);
    else await serveWholeChat(inference, question);
  });
  return reply;
}
