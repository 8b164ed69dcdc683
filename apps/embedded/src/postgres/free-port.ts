import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the system hands out for outgoing connections and for port 0, so that ours stays ours. */
const FIRST_PORT = 15_000;
const LAST_PORT = 31_999;
const TRIES = 100;

/** A loopback port that nobody listens on; it may be taken before it is used. Rejects where none is found. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
