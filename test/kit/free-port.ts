import { once } from 'node:events';
import { createServer } from 'node:net';

/** A Redis Cluster node listens a second time, for the other nodes, at this distance. */
export const CLUSTER_BUS_OFFSET = 8_000;

// Below the ports that the system hands out itself: a server that is restarted finds its port free.
const LOWEST_PORT = 15_000;
// Up to so many workers of a run have their own, so that none takes the port of another's server while that is restarted.
const WORKERS = 8;
const PORTS = CLUSTER_BUS_OFFSET / WORKERS;
const FIRST_PORT = LOWEST_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * PORTS;

const given = new Set<number>();

/**
 * A loopback port that, with its cluster bus, nobody listens on, and that was not given before; somebody else may take it
 * before it is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (given.size === PORTS) given.clear();
    if (given.has(port)) continue;
    // Before it is looked at: several are asked for at once.
    given.add(port);
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
