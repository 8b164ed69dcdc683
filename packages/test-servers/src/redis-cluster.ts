import { setTimeout as sleep } from 'node:timers/promises';
import { CLUSTER_BUS_OFFSET } from './free-port.ts';
import type { OwnRedis, OwnRedisOptions } from './redis.ts';
import { withRedis } from './redis-connection.ts';
import { startRedisProcess } from './redis-process.ts';

const NODES = 3;
const SLOTS = 16_384;
const FORM_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

/** A cluster whose nodes a test can kill one by one. */
export interface TestRedisCluster extends OwnRedis {
  readonly members: readonly { kill9(): Promise<void>; restart(): Promise<void> }[];
}

/** Starts three masters on loopback that share the slots. */
export async function startRedisCluster(program: string, options: OwnRedisOptions): Promise<TestRedisCluster> {
  const portSettings = (port: number) => [
    ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '2000'],
    ...['--cluster-port', String(port + CLUSTER_BUS_OFFSET), '--cluster-announce-ip', '127.0.0.1'],
  ];
  const nodes = await Promise.all(
    Array.from({ length: NODES }, () => startRedisProcess(program, { ...options, databases: 1, portSettings })),
  );
  const onAll = async (act: (node: (typeof nodes)[number]) => Promise<void>) => {
    await Promise.all(nodes.map(act));
  };
  const urls = nodes.map((node) => node.url);
  try {
    await form(nodes);
    await untilWhole(urls);
  } catch (error) {
    await onAll((node) => node.stop());
    throw error;
  }

  return {
    url: `${urls[0]}?cluster=1`,
    nodes: urls,
    members: nodes.map((node) => ({
      kill9: () => node.kill9(),
      restart: async () => {
        await node.restart();
        await untilWhole(urls);
      },
    })),
    get pid() {
      return nodes[0]?.pid;
    },
    kill9: () => onAll((node) => node.kill9()),
    restart: async () => {
      await onAll((node) => node.restart());
      await untilWhole(urls);
    },
    flush: () => onAll((node) => node.flush()),
    pause: () => onAll((node) => node.pause()),
    resume: () => onAll((node) => node.resume()),
    stop: () => onAll((node) => node.stop()),
  };
}

/** Does the work of `redis-cli --cluster create`, because a server may be installed without that program. */
async function form(nodes: readonly { url: string; port: number }[]): Promise<void> {
  for (const [index, { url }] of nodes.entries()) {
    const firstSlot = Math.floor((index * SLOTS) / nodes.length);
    const lastSlot = Math.floor(((index + 1) * SLOTS) / nodes.length) - 1;
    await withRedis(url, async (redis) => {
      await redis.call('cluster', 'set-config-epoch', index + 1);
      await redis.call('cluster', 'addslotsrange', firstSlot, lastSlot);
      for (const { port } of nodes.slice(0, index)) {
        await redis.call('cluster', 'meet', '127.0.0.1', port, port + CLUSTER_BUS_OFFSET);
      }
    });
  }
}

async function untilWhole(urls: readonly string[]): Promise<void> {
  for (const deadline = Date.now() + FORM_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const states = await Promise.all(urls.map((url) => withRedis(url, (redis) => redis.cluster('INFO'))));
    const whole = (state: string) =>
      state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${urls.length}`);
    if (states.every(whole)) return;
    if (Date.now() > deadline) throw new Error(`the Redis cluster did not form:\n${states.join('\n')}`);
  }
}
