import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy as companies run it, which the variables of the environment name. */
export interface WebProxy {
  readonly url: string;
  /** The address of each request and tunnel that it was asked for. */
  readonly asked: string[];
  stop(): Promise<void>;
}

/** Starts a proxy that notes what it is asked for, and refuses it. */
export async function startWebProxy(): Promise<WebProxy> {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(403).end();
  });
  server.on('connect', ({ url = '' }, socket) => {
    asked.push(`http://${url}`);
    socket.on('error', () => undefined).end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
