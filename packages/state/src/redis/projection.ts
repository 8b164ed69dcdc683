import { assertBooked, assertKey, assertMint, assertWallet } from '../bounds.ts';
import type { AuditedFunds, ProjectionPort } from '../ports.ts';
import { shardPrefix } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { keyIndexName } from './admission.ts';
import { listReply, type ScriptRunner } from './script-runner.ts';

export function redisProjection(runner: ScriptRunner): ProjectionPort {
  const indexKey: ProjectionPort['indexKey'] = async ({ keyHash, shard }) => {
    await runner.plain((redis) => redis.set(keyIndexName(keyHash), String(shard)));
  };
  return {
    indexKey,

    async putWallet(funds) {
      assertWallet(funds);
      const { shard, walletId, balanceNusd, version } = funds;
      await runner.step('putWallet', shard, [walletId, balanceNusd.toString(), version]);
    },

    async putKey(key) {
      assertKey(key);
      await runner.step('putKey', key.shard, [
        key.keyHash,
        key.walletId,
        key.generation,
        key.active ? 1 : 0,
        JSON.stringify(key.record),
        key.limitFundsNusd?.toString() ?? '',
        key.fundsVersion,
        key.limitRequests,
        key.limitTokens,
      ]);
      // After the record: a key that is found must have one.
      await indexKey(key);
    },

    async mint(request) {
      assertMint(request);
      const { shard, ticketHash, walletId, keyHash, generation, form, ttlMs, free = false } = request;
      const [result, available] = await runner.step('mint', shard, [
        ticketHash,
        walletId,
        keyHash,
        ttlMs,
        free ? 'free' : '',
        generation,
        form,
      ]);
      if (result === 'minted' || result === 'not_projected') return { result };
      if (result === 'insufficient') return { result, availableNusd: BigInt(String(available)) };
      throw new StateUnavailableError('unexpected reply');
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
      return entries.map(([streamId, [, payload = '', , mac = '']]) => ({ streamId, payload, mac }));
    },

    async book(charges) {
      assertBooked(charges);
      const { wallet, keys, holdIds } = charges;
      await runner.step('book', wallet.shard, [
        wallet.walletId,
        wallet.balanceNusd.toString(),
        wallet.version,
        keys.length,
        ...keys.flatMap((key) => [key.keyHash, key.limitFundsNusd?.toString() ?? '', key.version]),
        ...holdIds,
      ]);
    },

    async forget(shard, holdIds) {
      if (holdIds.length > 0) await runner.step('forget', shard, holdIds);
    },

    async acknowledge(shard, streamId) {
      await runner.step('acknowledge', shard, [streamId]);
    },

    async readBooks(shard, { walletIds, keyHashes }) {
      const rows = listReply(
        await runner.onShard('readBooks', shard, [walletIds.length, ...walletIds, ...keyHashes]),
      ).map(readFunds);
      const read = (ids: readonly string[], from: number): Map<string, AuditedFunds> =>
        new Map(
          ids.flatMap((id, at): [string, AuditedFunds][] => {
            const funds = rows[from + at];
            return funds === undefined ? [] : [[id, funds]];
          }),
        );
      return { wallets: read(walletIds, 0), keys: read(keyHashes, walletIds.length) };
    },

    async readNotes(shard) {
      return runner.plain((redis) => redis.hkeys(`${shardPrefix(shard)}notes`));
    },
  };
}

/** What a script says of a wallet or a key; undefined where it was not projected. */
function readFunds(row: unknown): AuditedFunds | undefined {
  const [funds, version, held, unbooked, holds, notes] = listReply(row);
  if (version == null) return undefined;
  const nusd = (value: unknown): bigint => BigInt(value == null || value === '' ? '0' : String(value));
  return {
    fundsNusd: nusd(funds),
    version: Number(version),
    heldNusd: nusd(held),
    unbookedNusd: nusd(unbooked),
    holdsNusd: nusd(holds),
    notesNusd: nusd(notes),
  };
}
