import { registryPublicSchema } from '@sotto/router';
import { assertReceipt } from '../bounds.ts';
import { brokerClient, Membership } from '../membership/membership.ts';
import type { CatalogPort, ReceiptPort, State } from '../ports/index.ts';
import { catalogSnapshotSchema } from '../records.ts';
import { readJson } from '../steps/read-reply.ts';
import { steppedState } from '../steps/stepped-state.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { Announcements } from './announcements.ts';
import { channels } from './channels.ts';
import { connectRedis } from './connection.ts';
import { DurabilityCheck } from './durability.ts';
import { redisHealth } from './health.ts';
import { isDenial, readsControlKeys } from './inspect.ts';
import { keyLookup, redisKeyIndex } from './key-index.ts';
import { readMemoryUse } from './memory-use.ts';
import { redisReads } from './reads.ts';
import { runOnRedis } from './run-steps.ts';
import { ScriptRunner } from './script-runner.ts';
import { followTrouble } from './trouble.ts';

export interface RedisStateOptions {
  /** `redis://` or `rediss://`. Several hosts, or `?cluster=1`, mean a Redis Cluster. */
  readonly url: string;
  /** Timeout of one command in ms. */
  readonly commandTimeoutMs?: number | undefined;
  /** A clock in Unix ms for tests. Default: Redis' own clock. */
  readonly clock?: (() => number) | undefined;
  /** Creates the random name of an incarnation. Default: a broker's. */
  readonly newClient?: (() => string) | undefined;
  /** Name of the connection in Redis' client list. */
  readonly name?: string | undefined;
  /** Called once if the connection's user can read control's keys. */
  readonly onExposed?: (() => void) | undefined;
  /** Called once if the connection's user lacks the right to a command. */
  readonly onDenied?: (() => void) | undefined;
  /** Called with the cause, such as `WRONGPASS`, when Redis cannot be reached or for another cause than before; with undefined when it can. */
  readonly onConnection?: ((cause: string | undefined) => void) | undefined;
  /** If given, a Redis that is not durable counts as not ready, and this is called with the reason. */
  readonly onVolatile?: ((problem: string) => void) | undefined;
}

/** The shared state on Redis (7 or later) or Valkey, single or cluster. Connects in the background. */
export function createRedisState({
  url,
  commandTimeoutMs = 1000,
  clock,
  newClient = brokerClient,
  name,
  onExposed,
  onDenied,
  onConnection = () => {},
  onVolatile,
}: RedisStateOptions): State {
  const connection = connectRedis(url, { commandTimeoutMs, name });
  const trouble = followTrouble(connection, onConnection);
  let denied = onDenied;
  const onRefusal = (error: Error): void => {
    if (!isDenial(error)) return;
    denied?.();
    denied = undefined;
  };
  const membership = new Membership(newClient);
  const runner = new ScriptRunner(connection, membership, {
    ...{ now: () => performance.now(), onRefusal, cause: () => trouble.cause },
    timeoutMs: commandTimeoutMs,
  });
  const announcements = new Announcements(() => connectRedis(url, { commandTimeoutMs, name }), onRefusal);
  // No caller waits for it. A reader that misses it finds the change by looking.
  const announce = (): void => void runner.plain((redis) => redis.publish(channels.published, '')).catch(() => {});
  const now = (): string => (clock === undefined ? '' : String(clock()));
  const reads = redisReads(runner);
  let untold = onExposed;
  const durability = new DurabilityCheck(connection, () => performance.now());
  return {
    membership,
    ...steppedState(runOnRedis(runner, now), { membership, index: redisKeyIndex(runner) }),
    lookupKey: keyLookup(runner, now),
    sent: () => runner.sent(),
    ...reads,
    watchSettlements: (wake) => announcements.watch('settled', wake),
    watchMembers: (wake) => announcements.watch('joined', wake),
    watchPublished: (wake) => announcements.watch('published', wake),
    ...redisCatalog(runner, announce),
    ...redisHealth(runner, announce),
    ...redisReceipts(runner),
    readMemory: () => runner.plain(readMemoryUse),
    async isReady() {
      try {
        const problem = onVolatile === undefined ? undefined : await durability.problem();
        if (problem !== undefined) {
          onVolatile?.(problem);
          return false;
        }
        if (untold !== undefined) {
          const isExposed = await readsControlKeys(connection);
          if (isExposed) untold?.();
          untold = undefined;
        }
        return await reads.isOpen();
      } catch {
        return false;
      }
    },
    async close() {
      connection.disconnect();
    },
  };
}

const catalogKey = 'sotto:catalog';
const registryKey = 'sotto:registry';

function redisCatalog(runner: ScriptRunner, announce: () => void): Omit<CatalogPort, 'watchPublished'> {
  const catalogVersion = async (): Promise<number | undefined> => {
    const version = await runner.plain((redis) => redis.hget(catalogKey, 'version'));
    return version === null ? undefined : Number(version);
  };
  return {
    async publishCatalog(snapshot) {
      await runner.run('publishCatalog', catalogKey, [snapshot.version, JSON.stringify(snapshot)]);
      announce();
    },

    catalogVersion,
    async readCatalog(knownVersion) {
      if (((await catalogVersion()) ?? 0) <= knownVersion) return undefined;
      const text = await runner.plain((redis) => redis.hget(catalogKey, 'snapshot'));
      const snapshot = readJson(text, catalogSnapshotSchema);
      if (snapshot === undefined) throw new StateUnavailableError('unreadable catalog');
      return snapshot;
    },

    async publishRegistry(registry) {
      await runner.plain((redis) => redis.set(registryKey, JSON.stringify(registry)));
      announce();
    },

    async readRegistry() {
      const text = await runner.plain((redis) => redis.get(registryKey));
      if (text === null) return undefined;
      const registry = readJson(text, registryPublicSchema);
      if (registry === undefined) throw new StateUnavailableError('unreadable registry');
      return registry;
    },
  };
}

const keyOf = (kind: string, id: string): string => `sotto:receipt:${kind}:${id}`;

function redisReceipts(runner: ScriptRunner): ReceiptPort {
  return {
    async keepReceipt(kind, id, document, ttlMs) {
      assertReceipt({ id, document, ttlMs });
      await runner.plain((redis) => redis.set(keyOf(kind, id), document, 'PX', ttlMs));
    },
    async readReceipt(kind, id) {
      return (await runner.plain((redis) => redis.get(keyOf(kind, id)))) ?? undefined;
    },
  };
}
