import type { FastifyReply, FastifyRequest } from 'fastify';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import { readSealedQuestion, type SealedChatQuestion } from './sealed-question.ts';
import { serveSealedChat } from './serve-sealed.ts';

/** The operation, as a sentence names it. */
export const sealedChat = 'End-to-end-encrypted chat';

/** Serves a chat request that was encrypted for a provider's enclave: by ticket, from one provider, unread. */
export async function runSealedChat(
  deps: InferenceDependencies,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const read = (): SealedChatQuestion => readSealedQuestion(request, deps.providers);
  await InferenceRequest.run(deps, 'chat', { request, reply, ticketOnly: sealedChat }, read, serveSealedChat);
  return reply;
}
