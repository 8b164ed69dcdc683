import { type Operation, ServiceError } from '@sotto/wire';
import type { FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { InferenceDependencies } from '../deps.ts';
import { credentialOf } from './credential.ts';
import { completing } from './refusal.ts';

/** Operations outside compatibility mode, as a sentence names them. */
export const servedByTicket: Partial<Record<Operation, string>> = {
  image: 'Image generation',
  speech: 'Speech synthesis',
};

/**
 * Returns the `config` of an inference route that reads the credential before the body: a caller without a good one must
 * not have the broker hold memory. A refusal is traced as one of admission, which did not begin.
 */
export function credentialFirst(
  { admission, traces, now }: Pick<InferenceDependencies, 'admission' | 'traces' | 'now'>,
  operation: Operation,
  ticketOnlyOf: (request: FastifyRequest) => string | undefined = () => servedByTicket[operation],
): Pick<RouteShorthandOptions, 'config' | 'errorHandler'> {
  const beforeBody = async (request: FastifyRequest): Promise<void> => {
    const startedAt = now();
    try {
      await credentialOf(admission, { request, ticketOnly: ticketOnlyOf(request) });
    } catch (error) {
      traces?.begin(operation, startedAt)?.end({ operation, ...refusalOf(error) }, now());
      throw error;
    }
  };
  return {
    config: { beforeBody },
    errorHandler: completing(admission, (request) => ({ request, ticketOnly: ticketOnlyOf(request) })),
  };
}

/** The attributes by which a trace tells that a request was refused. */
export const refusalOf = (error: unknown) =>
  error instanceof ServiceError
    ? { status: error.status, error: error.type }
    : { status: 500, error: 'internal_error' };
