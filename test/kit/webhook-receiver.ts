import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import tls from 'node:tls';
import { certifyServer, Issuer, toPem } from '@sotto/attestation/testing';
import { listenOnLoopback } from '@sotto/test-servers';

interface ReceivedEvent {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A status. Or 200 with a body of 20 KB, or with one that never ends. `hang` never answers. */
type ReceiverAnswer = number | 'long' | 'endless' | 'hang';

/** A server of a workspace that receives webhooks, by https on loopback, for `localhost` and 127.0.0.1. */
export interface Receiver {
  readonly port: number;
  /** The certificate of its authority, for processes that are to trust it. */
  readonly caPem: string;
  readonly received: readonly ReceivedEvent[];
  /** Its connections so far, also those without a request. */
  connections(): number;
  /** Answers the next requests, each in one of these ways, and then with 204. */
  answerNext(...answers: readonly ReceiverAnswer[]): void;
  stop(): Promise<void>;
}

/** Starts a receiver whose certificate this process trusts. */
export async function startReceiver(): Promise<Receiver> {
  // Of two authorities with one name, a client would look at the first only.
  const authority = await Issuer.make(`webhook authority ${randomUUID()}`);
  const { cert, key } = await certifyServer(authority);
  const caPem = toPem(await authority.certifySelf());
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), caPem]);
  const received: ReceivedEvent[] = [];
  const answers: ReceiverAnswer[] = [];
  let connections = 0;
  const server = createServer({ cert, key }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces).toString() });
      const answer = answers.shift() ?? 204;
      if (answer === 'hang') return;
      if (answer === 'long') return void response.writeHead(200).end('x'.repeat(20_000));
      if (answer === 'endless') return void response.writeHead(200).write('x');
      response.writeHead(answer, answer >= 300 && answer < 400 ? { location: '/elsewhere' } : {}).end();
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  return {
    port: await listenOnLoopback(server),
    caPem,
    received,
    connections: () => connections,
    answerNext: (...next) => void answers.push(...next),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
