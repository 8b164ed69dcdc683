import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { networkOf } from '../network.ts';
import { ArrivingBody, largeBytes, type Stalled } from './arriving-body.ts';
import { SharedBudget } from './shared-budget.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs before a body is read, once its type is known to be right; throws to refuse the request. */
    beforeBody?: (request: FastifyRequest) => Promise<void>;
  }
  interface FastifyInstance {
    readonly arrivingBodies: ArrivingBodies;
  }
}

export interface ArrivingBodiesOptions {
  /** The bytes that bodies which are still arriving may hold together. */
  readonly budget: number;
  /** After so long without a byte a body is given up, in ms. */
  readonly idleMs: number;
}

/** Called once for each body. */
type BodyRead = (error: Error | null, body?: Buffer) => void;

/** A large body must arrive at this rate, measured over `idleMs`, in bytes per second. */
const leastRate = 4 * 1024;

/**
 * Reads bodies, and bounds what clients can have the process hold by sending large ones and never their ends. Bytes count
 * as they come, not as they are announced, and until the body is whole: then its request is judged at once.
 */
export class ArrivingBodies {
  readonly #budget: SharedBudget;
  readonly #idleMs: number;
  readonly #arriving = new Map<ArrivingBody, (error: ServiceError) => void>();

  constructor({ budget, idleMs }: ArrivingBodiesOptions) {
    this.#budget = new SharedBudget(budget);
    this.#idleMs = idleMs;
  }

  /** How often `tick` is to be called, in ms. */
  get tickMs(): number {
    return this.#idleMs / 10;
  }

  /** How many bytes of memory bodies hold that are still arriving. */
  get held(): number {
    return this.#budget.held;
  }

  /** Gives up bodies that have stalled. */
  tick(): void {
    for (const [body, giveUp] of this.#arriving) {
      const stalled = body.tick();
      if (stalled !== undefined) giveUp(this.#timeout(stalled));
    }
  }

  /**
   * Reads a body and calls back once, with it or with what refuses it: its route, its size, the budget, or that it does not
   * move. In the way of Fastify's parsers, because a promise for each small body would cost more than the body.
   */
  read(request: FastifyRequest, payload: IncomingMessage, done: BodyRead): void {
    const { config, bodyLimit = 0 } = request.routeOptions;
    const { beforeBody } = config;
    // At an address that is not there the answer is known without it.
    if (request.is404) done(null);
    else if (beforeBody === undefined) this.#collect(request, payload, { bodyLimit, done });
    else beforeBody(request).then(() => this.#collect(request, payload, { bodyLimit, done }), done);
  }

  #collect(
    { headers, ip }: FastifyRequest,
    payload: IncomingMessage,
    { bodyLimit, done }: { readonly bodyLimit: number; readonly done: BodyRead },
  ): void {
    const atMost = announcedBytes(headers) ?? bodyLimit;
    const network = networkOf(ip);
    const body = new ArrivingBody({ atMost, leastInWindow: (leastRate * this.#idleMs) / 1000 });
    let isOver = false;
    const over = (error: ServiceError | null): void => {
      isOver = true;
      this.#arriving.delete(body);
      this.#budget.give(network, body.capacity);
      if (error === null) done(null, body.whole());
      else done(error);
    };
    const lose = (): void => {
      // An error has a stack, which costs more than a small body: most bodies are closed after their end.
      if (!isOver) over(brokenOff());
    };
    const take = (piece: Buffer): void => {
      if (isOver) return;
      const more = body.capacityWith(piece.length) - body.capacity;
      if (body.bytes + piece.length > bodyLimit) over(tooLarge());
      else if (this.#budget.take(network, more)) body.append(piece);
      else over(overBudget());
    };
    const end = (): void => {
      if (!isOver) over(null);
    };
    if (atMost > bodyLimit) over(tooLarge());
    // The client left while its credential was looked at, and no event follows.
    else if (payload.destroyed) lose();
    else {
      this.#arriving.set(body, over);
      payload.on('data', take).on('end', end).on('error', lose).on('close', lose);
    }
  }

  #timeout(stalled: Stalled): ServiceError {
    const messages = {
      still: `No byte of the body has come for ${this.#idleMs / 1000} s. Send the request again.`,
      slow: `The body arrives at less than ${leastRate} bytes a second. Send the request again on a faster connection.`,
    };
    return new ServiceError('request_timeout', { message: messages[stalled] });
  }
}

/** Has a scope take bodies of a type, as bytes. */
export function takeBodies(app: FastifyInstance, contentType: string): void {
  app.addContentTypeParser(contentType, (request, payload: IncomingMessage, done) =>
    app.arrivingBodies.read(request, payload, done),
  );
}

/** Whether a request's body is large, or may turn out to be. */
export const mayBeLarge = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || (announcedBytes(headers) ?? 0) > largeBytes;

/** From `content-length`; undefined where a body comes in chunks, or none comes. */
function announcedBytes(headers: IncomingHttpHeaders): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

const tooLarge = (): ServiceError => new ServiceError('payload_too_large');

const overBudget = (): ServiceError =>
  new ServiceError('service_unavailable', {
    message:
      'Too many bodies are arriving at once, altogether or from your address. Send this one again after `retry-after`.',
  });

/** The client has left, or what followed was not HTTP, before the body was whole. */
const brokenOff = (): ServiceError =>
  new ServiceError('invalid_request', { message: 'The body did not arrive whole.' });
