import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** How a server shuts down behind a load balancer. */
export interface Leave {
  /** Time in ms to keep serving while `/readyz` already answers 503, so that load balancers stop sending requests. */
  readonly announceMs: number;
  /** Time in ms that running requests get to finish after that. */
  readonly graceMs: number;
  /** Ends requests that still run after the grace period with an error response. They get at most one more second. */
  readonly breakOff?: () => void;
}

/**
 * Time in ms in which clients with a kept connection learn that it closes, even without a load balancer. A request that is sent while the
 * connection is cut would be lost, and its client could not know whether it was served.
 */
const keptMs = 500;

/** Time in ms for the error responses of `breakOff`. */
const lastAnswersMs = 1_000;

/**
 * Closes a server without failures for clients behind a load balancer. During `announceMs` it serves every request, and
 * each response closes its connection, so that kept-alive connections move elsewhere. Then it accepts no new
 * connection. Connections that were busy may still send requests: it serves them for the first half of the grace period
 * and rejects them after that. Requests that run at the end of the grace period are told to end, and then cut.
 */
export async function leaveServer(app: FastifyInstance, { announceMs, graceMs, breakOff }: Leave): Promise<void> {
  const { server } = app;
  const closeAfter = (_request: unknown, response: ServerResponse): void => {
    response.shouldKeepAlive = false;
  };
  server.prependListener('request', closeAfter);
  server.prependListener('checkExpectation', closeAfter);
  const kept = await new Promise<number>((resolve) => void server.getConnections((_, count) => resolve(count ?? 0)));
  await pause(kept === 0 ? announceMs : Math.max(announceMs, keptMs));
  const ended = new Promise<void>((resolve) => void server.once('close', resolve));
  server.close();
  await Promise.race([ended, pause(graceMs / 2)]);
  const closed = app.close();
  await Promise.race([closed, pause(graceMs / 2)]);
  if (breakOff !== undefined) {
    breakOff();
    await Promise.race([closed, pause(lastAnswersMs)]);
  }
  server.closeAllConnections();
  await closed;
}

/** The timer does not keep the process alive. */
const pause = (ms: number): Promise<void> =>
  ms <= 0 ? Promise.resolve() : new Promise((resolve) => void setTimeout(resolve, ms).unref());
