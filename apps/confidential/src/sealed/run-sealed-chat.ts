import type { FastifyReply, FastifyRequest } from 'fastify';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import { readSealedQuestion, type SealedChatQuestion } from './sealed-question.ts';
import { serveSealedChat } from './serve-sealed.ts';

/** Serves a chat request that was encrypted for a provider's enclave: by ticket, from one provider, unread. */
export async function runSealedChat(
  deps: InferenceDependencies,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  let question: SealedChatQuestion | undefined;
  const read = (): SealedChatQuestion => {
    question = readSealedQuestion(request, deps.providers);
    return question;
  };
  const ticketOnly = 'End-to-end-encrypted chat';
  await InferenceRequest.run(deps, 'chat', { request, reply, ticketOnly }, read, async (inference) => {
    if (question === undefined) throw new Error('served without a question');
    await serveSealedChat(inference, question);
  });
  return reply;
}
