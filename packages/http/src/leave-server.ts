import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** How a server goes that others know of. */
export interface Leave {
  /** For how long it serves on while it says already that it is not ready, so that balancers look elsewhere, in ms. */
  readonly announceMs: number;
  /** How long what runs then may take to end, in ms. */
  readonly graceMs: number;
  /** Has what then still runs end in its own words, for which it is given a second more at most. */
  readonly breakOff?: () => void;
}

/** How long last words may take to be said. */
const lastAnswersMs = 1_000;

/**
 * Closes a server so that nobody notices who asks through a balancer. While its going is announced everything is served,
 * and each answer tells its connection to close, so that kept ones move elsewhere. Then nothing new is accepted. What comes
 * on connections that had a stream open until then is served for the first half of the grace and refused after it; what
 * runs at its end is told to end, and then cut.
 */
export async function leaveServer(app: FastifyInstance, { announceMs, graceMs, breakOff }: Leave): Promise<void> {
  const { server } = app;
  const closeAfter = (_request: unknown, response: ServerResponse): void => {
    response.shouldKeepAlive = false;
  };
  server.prependListener('request', closeAfter);
  server.prependListener('checkExpectation', closeAfter);
  await pause(announceMs);
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

/** Ends with the process, should there be nothing else to wait for. */
const pause = (ms: number): Promise<void> =>
  ms <= 0 ? Promise.resolve() : new Promise((resolve) => void setTimeout(resolve, ms).unref());
