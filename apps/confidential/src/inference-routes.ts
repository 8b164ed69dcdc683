import type { IncomingMessage } from 'node:http';
import { chatContracts, operationContracts } from '@sotto/contract/confidential/inference';
import type { MediaSwitches } from '@sotto/router';
import { type RouteCall, serveRoutes, unsupportedType } from '@sotto/server';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bodyHolder } from './admission/credential.ts';
import { completing } from './admission/refusal.ts';
import { chatOperation } from './chat/chat-operation.ts';
import { embeddingsOperation } from './embeddings/embeddings-operation.ts';
import { imageOperation } from './images/image-operation.ts';
import type { InferenceDependencies } from './inference/deps.ts';
import type { Operation } from './inference/operation.ts';
import { RequestLog } from './inference/request-log.ts';
import { run } from './inference/run.ts';
import { sealedChatOperation } from './sealed/sealed-chat-operation.ts';
import { speechOperation } from './speech/speech-operation.ts';

/**
 * Serves every operation of the inference API, for tickets and for keys. The header `x-router-e2ee` marks a chat
 * request that its client has encrypted for a provider's enclave.
 */
export function serveInference(app: FastifyInstance, deps: InferenceDependencies, media: MediaSwitches): void {
  const chat = chatOperation(deps);
  const sealedChat = sealedChatOperation(deps);
  // Use a separate scope, because no other route takes bodies of this type.
  app.register((scope, _options, done) => {
    scope.addContentTypeParser('application/octet-stream', (request, payload: IncomingMessage, read) => {
      if (isSealed(request)) scope.requestBodies.read(request, payload, read);
      else read(unsupportedType(request.headers));
    });
    serveRoutes(scope)(chatContracts)({
      'POST /v1/chat/completions': running(scope, deps, (request) => (isSealed(request) ? sealedChat : chat)),
    });
    done();
  });
  const embeddings = embeddingsOperation();
  serveRoutes(app)(operationContracts)({
    'POST /v1/embeddings': running(app, deps, () => embeddings),
    'POST /v1/images/generations': media.image ? running(app, deps, () => imageOperation) : disabled,
    'POST /v1/audio/speech': media.speech ? running(app, deps, () => speechOperation) : disabled,
  });
}

const isSealed = ({ headers }: FastifyRequest): boolean => headers[headerNames.e2ee] !== undefined;

/**
 * Returns the handler of an operation. Its route reads the credential before the body: a caller without a good one must not
 * make the broker hold memory. A refusal at this point is traced without an admission step.
 */
function running<Of extends Operation>(
  app: FastifyInstance,
  deps: InferenceDependencies,
  operationOf: (request: FastifyRequest) => Of,
) {
  const { admission } = deps;
  const beforeBody = async (request: FastifyRequest): Promise<void> => {
    const operation = operationOf(request);
    const log = new RequestLog(deps, operation.name, request);
    try {
      app.requestBodies.countBy(request, bodyHolder(await request.exchange.credential(admission, operation)));
    } catch (error) {
      log.refused(error);
      throw error;
    }
  };
  return {
    config: { beforeBody },
    errorHandler: completing(admission, operationOf),
    onSend: completeReceipt,
    handler: async ({ request, reply }: Pick<RouteCall<unknown>, 'request' | 'reply'>): Promise<FastifyReply> => {
      const { exchange } = request;
      exchange.freeMemory = app.requestBodies.keep(request);
      try {
        await run(deps, operationOf(request), exchange);
      } finally {
        exchange.freeMemory();
      }
      return reply;
    },
  };
}

const refuse = async (): Promise<never> => {
  throw new ServiceError('media_disabled');
};

/** Rejects an operation that is disabled in this deployment, before any credential or body is read. */
const disabled = { config: { beforeBody: refuse }, handler: refuse };

/**
 * Shows the receipt of an admitted request the answer that Fastify sends. This is always an error, because every other
 * answer is hijacked.
 */
async function completeReceipt({ exchange }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
  const { witness } = exchange;
  if (witness === undefined) return;
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) witness.see(payload, 'utf8');
  await witness.complete(reply.statusCode);
}
