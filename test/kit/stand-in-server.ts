import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listenOnLoopback } from '@sotto/test-servers';

/** A request as a payment service receives it. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The fault that a test gives a stand-in service: none, an outage, or writes whose answers never arrive. */
export type Trouble = 'down' | 'answers_are_lost' | undefined;

export interface StandInServer {
  readonly url: string;
  readonly calls: Call[];
  /** With `answers_are_lost`, the service carries out writes, but the caller never receives the answers. */
  trouble: Trouble;
  /** Whether writes meet an outage while the service answers reads. */
  refuseWrites: boolean;
  /** Resolves when the next write whose path contains the text has been carried out. */
  carriedOut(path: string): Promise<void>;
  stop(): Promise<void>;
}

/** An HTTP server on loopback around the rules of a payment service. */
export async function startStandIn(handle: (call: Call) => Reply | Promise<Reply>): Promise<StandInServer> {
  const waiting: { path: string; resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('end', async () => {
      const url = new URL(request.url ?? '/', 'http://stand-in');
      const call: Call = {
        method: request.method ?? 'GET',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(pieces).toString('utf8'),
      };
      if (standIn.trouble === 'down' || (standIn.refuseWrites && call.method !== 'GET')) {
        response.writeHead(503).end();
        return;
      }
      standIn.calls.push(call);
      const reply = await handle(call);
      for (const waiter of waiting.splice(0)) {
        if (call.method !== 'GET' && call.path.includes(waiter.path)) waiter.resolve();
        else waiting.push(waiter);
      }
      // The connection stays open and silent, as if the answer never arrived.
      if (standIn.trouble === 'answers_are_lost' && call.method !== 'GET') return;
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(reply.body));
    });
  });
  const port = await listenOnLoopback(server);
  const standIn: StandInServer = {
    url: `http://127.0.0.1:${port}`,
    calls: [],
    trouble: undefined,
    refuseWrites: false,
    carriedOut: (path) => new Promise((resolve) => waiting.push({ path, resolve })),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return standIn;
}
