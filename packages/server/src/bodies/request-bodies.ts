import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { networkOf } from '../network.ts';
import { ArrivingBody, largeBytes, type Stalled } from './arriving-body.ts';
import { BodyPacer, pacedBytes } from './body-pacer.ts';
import { type BodyHolder, SharedBudget } from './shared-budget.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs before a body is read, after its type was accepted. Throws to reject the request. */
    beforeBody?: (request: FastifyRequest) => Promise<void>;
  }
  interface FastifyInstance {
    readonly requestBodies: RequestBodies;
  }
  interface FastifyRequest {
    /** The response, whose end frees the memory of the body. */
    answeredBy: ServerResponse | undefined;
    /** The party that the body is counted by. Undefined: the network that the request comes from. */
    bodyHolder: BodyHolder | undefined;
    /** The memory that the request holds because of its body. */
    holding: Holding | undefined;
  }
}

export interface RequestBodiesOptions {
  /** The bytes of memory that requests may hold together because of their bodies. */
  readonly budget: number;
  /** The bytes of memory that a request holds at most for each byte of its body. */
  readonly weight: number;
  /** Time without a byte after which a body is rejected, in ms. */
  readonly idleMs: number;
}

/** Called once per body. */
type BodyRead = (error: Error | null, body?: Buffer) => void;

/** The minimum rate for a large body, in bytes per second. It is averaged over `idleMs`. */
const leastRate = 4 * 1024;

/**
 * Reads bodies, and limits the memory that requests hold because of them. It counts the bytes that have arrived, not
 * `content-length`. They count until the response has closed or, if a handler keeps them, until it lets them go.
 */
export class RequestBodies {
  readonly #budget: SharedBudget;
  readonly #weight: number;
  readonly #idleMs: number;
  readonly #pacer = new BodyPacer({
    now: () => performance.now(),
    afterThisTurn: (task) => setImmediate(task),
    after: (task, ms) => setTimeout(task, ms),
  });
  readonly #arriving = new Map<ArrivingBody, (error: ServiceError) => void>();

  constructor({ budget, weight, idleMs }: RequestBodiesOptions) {
    this.#budget = new SharedBudget(budget);
    this.#weight = weight;
    this.#idleMs = idleMs;
  }

  /**
   * Keeps the memory of a request’s body counted even if its response closes. Returns a function that ends the count.
   * Call it as soon as nothing refers to the content any more, and in any case when the work for the request is over.
   */
  keep(request: FastifyRequest): () => void {
    const { holding } = request;
    if (holding === undefined) return () => {};
    holding.isKept = true;
    return () => holding.end();
  }

  /**
   * Counts the body of a request by its credential, which was just verified, instead of by its address. Call this before
   * the body is read. Many users may share one address, such as the exit of a relay.
   */
  countBy(request: FastifyRequest, holder: BodyHolder): void {
    request.bodyHolder = holder;
  }

  /** The interval at which to call `tick`, in ms. */
  get tickMs(): number {
    return this.#idleMs / 10;
  }

  /** The bytes of memory that requests hold because of their bodies. */
  get held(): number {
    return this.#budget.held;
  }

  /** Rejects bodies that have stalled. */
  tick(): void {
    for (const [body, giveUp] of this.#arriving) {
      const stalled = body.tick();
      if (stalled !== undefined) giveUp(this.#timeout(stalled));
    }
  }

  /**
   * Reads a body and calls back once, with the body or with an error. The error comes from `beforeBody`, the size
   * limit, the budget, or a stall. It takes a callback, as Fastify’s parsers do, because a promise for each small body
   * would cost more than the body.
   */
  read(request: FastifyRequest, payload: IncomingMessage, done: BodyRead): void {
    const { config, bodyLimit = 0 } = request.routeOptions;
    const { beforeBody } = config;
    // Without a route the response is 404, whatever the body.
    if (request.is404) done(null);
    else if (beforeBody === undefined) this.#collect(request, payload, { bodyLimit, done });
    else beforeBody(request).then(() => this.#collect(request, payload, { bodyLimit, done }), done);
  }

  #collect(
    request: FastifyRequest,
    payload: IncomingMessage,
    { bodyLimit, done }: { readonly bodyLimit: number; readonly done: BodyRead },
  ): void {
    const atMost = announcedBytes(request.headers) ?? bodyLimit;
    const holder = request.bodyHolder ?? { id: networkOf(request.ip) };
    const holding = new Holding(this.#budget, holder);
    const body = new ArrivingBody({ atMost, leastInWindow: (leastRate * this.#idleMs) / 1000 });
    let isOver = false;
    const over = (error: ServiceError | null): void => {
      isOver = true;
      this.#arriving.delete(body);
      if (error !== null) {
        holding.end();
        done(error);
        return;
      }
      this.#holdUntilAnswered(request, holding);
      if (body.bytes <= pacedBytes) done(null, body.whole());
      else this.#pacer.take(() => (holding.isEnded ? done(brokenOff()) : done(null, body.whole())));
    };
    const lose = (): void => {
      // An error captures a stack, which costs more than a small body. Most bodies close after they ended, so create
      // none then.
      if (!isOver) over(brokenOff());
    };
    const take = (piece: Buffer): void => {
      if (isOver) return;
      const more = body.capacityWith(piece) - body.capacity;
      if (body.bytes + piece.length > bodyLimit) over(tooLarge());
      else if (holding.grow(more * this.#weight)) body.append(piece);
      else over(overBudget());
    };
    const end = (): void => {
      if (!isOver) over(null);
    };
    if (atMost > bodyLimit) over(tooLarge());
    // The client left during `beforeBody`, so no further event follows.
    else if (payload.destroyed) lose();
    else {
      this.#arriving.set(body, over);
      payload.on('data', take).on('end', end).on('error', lose).on('close', lose);
    }
  }

  /** Ends a holding when the response closes, unless a handler keeps it until then. */
  #holdUntilAnswered(request: FastifyRequest, holding: Holding): void {
    const response = request.answeredBy;
    if (response === undefined || response.closed) {
      holding.end();
      return;
    }
    request.holding = holding;
    response.once('close', () => {
      if (!holding.isKept) holding.end();
    });
  }

  #timeout(stalled: Stalled): ServiceError {
    const messages = {
      still: `No byte of the body has come for ${this.#idleMs / 1000} s. Send the request again.`,
      slow: `The body arrives at less than ${leastRate} bytes a second. Send the request again on a faster connection.`,
    };
    return new ServiceError('request_timeout', { message: messages[stalled] });
  }
}

class Holding {
  readonly #budget: SharedBudget;
  readonly #holder: BodyHolder;
  #bytes = 0;
  isKept = false;
  isEnded = false;

  constructor(budget: SharedBudget, holder: BodyHolder) {
    this.#budget = budget;
    this.#holder = holder;
  }

  /** Takes more bytes. Returns false, and takes nothing, if the budget has too few. */
  grow(bytes: number): boolean {
    if (!this.#budget.take(this.#holder, bytes, this.#bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Returns all bytes. Further calls do nothing. */
  end(): void {
    this.isEnded = true;
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#budget.give(this.#holder, bytes);
  }
}

/** Makes a scope accept bodies of a content type, as bytes. */
export function takeBodies(app: FastifyInstance, contentType: string): void {
  app.addContentTypeParser(contentType, (request, payload: IncomingMessage, done) =>
    app.requestBodies.read(request, payload, done),
  );
}

/** Whether a request’s body is large, or may become large because its length is unknown. */
export const mayBeLarge = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || (announcedBytes(headers) ?? 0) > largeBytes;

/** Reads `content-length`. Returns undefined for a chunked body and for a request without a body. */
function announcedBytes(headers: IncomingHttpHeaders): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

const tooLarge = (): ServiceError => new ServiceError('payload_too_large');

const overBudget = (): ServiceError =>
  new ServiceError('service_unavailable', {
    message:
      'Too many large requests are running at once, altogether or from you alone. Send this one again after `retry-after`.',
  });

/** The error for a client that left, or sent bytes that are not HTTP, before the body was whole. */
const brokenOff = (): ServiceError =>
  new ServiceError('invalid_request', { message: 'The body did not arrive whole.' });
