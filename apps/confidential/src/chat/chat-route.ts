import { readJsonBody } from '@sotto/http';
import type { FastifyInstance } from 'fastify';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import { type ChatQuestion, readChatQuestion } from './chat-question.ts';
import { serveStreamedChat } from './serve-stream.ts';
import { serveWholeChat } from './serve-whole.ts';

/** `POST /v1/chat/completions` (interface 2.3), in both flows, whole and streamed. */
export function registerChat(app: FastifyInstance, deps: InferenceDependencies): void {
  app.post('/v1/chat/completions', async (request, reply) => {
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
  });
}
