import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** A Redis Cluster node also listens for the other nodes, on its port plus this offset. */
export const CLUSTER_BUS_OFFSET = 8_000;

// These ports are below the range that the system assigns itself, so a restarted server finds its port free.
const LOWEST_PORT = 15_000;
// Each worker of a run, up to this number, has its own range. No worker can take the port of another's server during a
// restart.
const WORKERS = 8;
const PORTS = CLUSTER_BUS_OFFSET / WORKERS;
const FIRST_PORT = LOWEST_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * PORTS;

/**
 * Returns a free loopback port whose cluster bus port is also free, and which this process has reserved until it ends.
 * Other runs of the tests on this machine do not get it. Another program may take it before the test uses it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    // The port is reserved before the check, because several callers run at once.
    if (!(await reserve(port))) continue;
    if ((await isFree(port)) && (await isFree(port + CLUSTER_BUS_OFFSET))) return port;
  }
}

/** Reserves a port by a socket of Linux that has a name instead of a port. The kernel frees the name with the process. */
const reserve = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const holder = createServer().once('error', () => resolve(false));
    holder.listen(`\0sotto-test-port-${port}`, () => resolve(true)).unref();
  });

/** Lets a server listen on loopback, on a port that the system assigns. Returns the port. */
export async function listenOnLoopback(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
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
