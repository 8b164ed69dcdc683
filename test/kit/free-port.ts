import { once } from 'node:events';
import { createServer } from 'node:net';

/** A Redis Cluster node listens a second time, for the other nodes, at this distance. */
export const CLUSTER_BUS_OFFSET = 8_000;

// Below the ports that the system hands out itself: a server that is restarted finds its port free.
const FIRST_PORT = 15_000;
const LAST_PORT = FIRST_PORT + CLUSTER_BUS_OFFSET - 1;

/** A loopback port that, with its cluster bus, nobody listens on; it may be taken before it is used. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    if ((await isFree(port)) && (await isFree(port + CLUSTER_BUS_OFFSET))) return port;
  }
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
