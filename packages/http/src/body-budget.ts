import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';

/** Below this a body is not counted: it costs less than its connection does. */
const smallBytes = 64 * 1024;

export interface BodyBudgetOptions {
  /** The largest body; a larger one is refused as such. */
  readonly bodyLimit: number;
  /** What bodies that are still arriving may have together, in bytes. */
  readonly budget: number;
}

/**
 * Bounds what clients can have held for them by sending large bodies and never their ends: bodies are read before
 * anybody knows whether a credential is any good. A body counts with what its `content-length` announces, or where it
 * announces nothing with what has come, until all of it has.
 */
export function boundArrivingBodies(app: FastifyInstance, { bodyLimit, budget }: BodyBudgetOptions): void {
  let held = 0;
  app.addHook('onRequest', ({ headers, raw }, reply, done) => {
    const length = Number(headers['content-length'] ?? 0);
    if (!(length > smallBytes) || length > bodyLimit) return done();
    if (held + length > budget) return done(overBudget());
    held += length;
    onceArrived(raw, reply.raw, () => {
      held -= length;
    });
    return done();
  });
  app.addHook('preParsing', ({ headers, raw }, reply, payload, done) => {
    if (headers['transfer-encoding'] === undefined) return done(null, payload);
    let own = 0;
    onceArrived(raw, reply.raw, () => {
      held -= own;
      own = 0;
    });
    const counted = new Transform({
      transform(piece: Buffer, _encoding, passed) {
        own += piece.length;
        held += piece.length;
        if (held > budget) passed(overBudget());
        else passed(null, piece);
      },
    });
    payload.once('error', (error) => counted.destroy(error));
    return done(null, payload.pipe(counted));
  });
}

/** Calls back when all of a request has come, or nobody waits for the rest: it was refused, or its client has left. */
function onceArrived(raw: IncomingMessage, response: ServerResponse, callback: () => void): void {
  let called = false;
  const once = (): void => {
    if (called) return;
    called = true;
    callback();
  };
  raw.once('end', once);
  response.once('close', once);
}

const overBudget = (): ServiceError =>
  new ServiceError('service_unavailable', {
    message: 'Too many large bodies are arriving at once. Send this one again after `retry-after`.',
  });
