import type { EpochPort, ProjectionPort } from '../ports/index.ts';
import { shardPrefix, shards } from '../shard.ts';
import { readEntry } from '../steps/projection-steps.ts';
import type { ScriptRunner } from './script-runner.ts';

/** Reads that need no script. */
export const redisReads = (
  runner: ScriptRunner,
): Pick<EpochPort, 'isOpen'> & Pick<ProjectionPort, 'readWallet' | 'readSettlements' | 'readNotes'> => ({
  async isOpen() {
    const found = await runner.plain((redis) =>
      Promise.all(shards.map((shard) => redis.hget(`${shardPrefix(shard)}epoch`, 'open'))),
    );
    return found.every((open) => open === '1');
  },

  async readWallet(shard, walletId) {
    const [funds, held, unbooked] = await runner.plain((redis) =>
      redis.hmget(`${shardPrefix(shard)}wallet:${walletId}`, 'funds', 'held', 'unbooked'),
    );
    if (funds == null) return undefined;
    return { fundsNusd: BigInt(funds), heldNusd: BigInt(held ?? '0'), unbookedNusd: BigInt(unbooked ?? '0') };
  },

  async readSettlements(shard, afterId, limit) {
    const entries = await runner.plain((redis) =>
      redis.xrange(`${shardPrefix(shard)}stream`, `(${afterId}`, '+', 'COUNT', limit),
    );
    return entries.map(readEntry);
  },

  readNotes: (shard) => runner.plain((redis) => redis.hkeys(`${shardPrefix(shard)}notes`)),
});
