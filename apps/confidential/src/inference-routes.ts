import type { IncomingMessage } from 'node:http';
import { pathOf } from '@sotto/contract';
import type { ConfidentialContracts } from '@sotto/contract/confidential';
import type { MediaSwitches } from '@sotto/router';
import { unsupportedType } from '@sotto/server';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bodyHolder } from './admission/credential.ts';
import { completing } from './admission/refusal.ts';
import { chatOperation } from './chat/chat-operation.ts';
import { embeddingsOperation } from './embeddings/embeddings-operation.ts';
import { imageOperation } from './images/image-operation.ts';
import type { InferenceDependencies } from './inference/deps.ts';
import type { Operation } from './inference/operation.ts';
import { refusalOf } from './inference/request-log.ts';
import { run } from './inference/run.ts';
import { sealedChatOperation } from './sealed/sealed-chat-operation.ts';
import { speechOperation } from './speech/speech-operation.ts';

/**
 * Registers every operation of the inference API, for tickets and for keys. The header `x-router-e2ee` marks a chat
 * request that its client has encrypted for a provider's enclave.
 */
export function registerInference(app: FastifyInstance, deps: InferenceDependencies, media: MediaSwitches): void {
  const chat = chatOperation(deps);
  const sealedChat = sealedChatOperation(deps);
  // Use a separate scope, because no other route takes bodies of this type.
  app.register((scope, _options, done) => {
    scope.addContentTypeParser('application/octet-stream', (request, payload: IncomingMessage, read) => {
      if (isSealed(request)) scope.requestBodies.read(request, payload, read);
      else read(unsupportedType(request.headers));
    });
    registerOperation(scope, deps, 'POST /v1/chat/completions', (request) => (isSealed(request) ? sealedChat : chat));
    done();
  });
  const embeddings = embeddingsOperation();
  registerOperation(app, deps, 'POST /v1/embeddings', () => embeddings);
  if (media.image) registerOperation(app, deps, 'POST /v1/images/generations', () => imageOperation);
  else registerDisabled(app, 'POST /v1/images/generations');
  if (media.speech) registerOperation(app, deps, 'POST /v1/audio/speech', () => speechOperation);
  else registerDisabled(app, 'POST /v1/audio/speech');
}

type OperationKey = keyof ConfidentialContracts & `POST ${string}`;

const isSealed = ({ headers }: FastifyRequest): boolean => headers[headerNames.e2ee] !== undefined;

/**
 * Registers the route of an operation. It reads the credential before the body: a caller without a good one must not
 * make the broker hold memory. A refusal at this point is traced without an admission step.
 */
function registerOperation<Of extends Operation>(
  app: FastifyInstance,
  deps: InferenceDependencies,
  key: OperationKey,
  operationOf: (request: FastifyRequest) => Of,
): void {
  const { admission, traces, now } = deps;
  const beforeBody = async (request: FastifyRequest): Promise<void> => {
    const startedAt = now();
    const operation = operationOf(request);
    try {
      app.requestBodies.countBy(request, bodyHolder(await request.exchange.credential(admission, operation)));
    } catch (error) {
      const { name } = operation;
      traces?.begin(name, startedAt)?.end({ operation: name, ...refusalOf(error) }, now());
      throw error;
    }
  };
  app.post(
    pathOf(key),
    { config: { beforeBody }, errorHandler: completing(admission, operationOf), onSend: completeReceipt },
    async (request, reply) => {
      const { exchange } = request;
      exchange.freeMemory = app.requestBodies.keep(request);
      try {
        await run(deps, operationOf(request), exchange);
      } finally {
        exchange.freeMemory();
      }
      return reply;
    },
  );
}

/** Rejects an operation that is disabled in this deployment, before any credential or body is read. */
function registerDisabled(app: FastifyInstance, key: OperationKey): void {
  const refuse = async (): Promise<void> => {
    throw new ServiceError('media_disabled');
  };
  app.post(pathOf(key), { config: { beforeBody: refuse } }, refuse);
}

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
