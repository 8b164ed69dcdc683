import {
  assertBooked,
  assertBudget,
  assertKey,
  assertMint,
  assertRemoved,
  assertReserve,
  assertVersion,
  assertWallet,
  lateMs,
} from '../bounds.ts';
import type { AuditedBudget, AuditedFunds, KeyProjection, ProjectionPort } from '../ports/index.ts';
import type { SettlementEntry } from '../records.ts';
import { shardPrefix } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { keyIndexName, readRefusingBudget } from './admission.ts';
import { listReply, type ScriptRunner } from './script-runner.ts';
import { StepBatch } from './step-batch.ts';

/** `now` is empty outside tests, because the scripts use Redis' own clock. */
export function redisProjection(runner: ScriptRunner, now: () => string): Omit<ProjectionPort, 'watchSettlements'> {
  const takes = new StepBatch(runner, 'takeSettlements', () => '');
  const indexKey: ProjectionPort['indexKey'] = async ({ keyHash, shard, secrets }) => {
    const entry = (secretHash: string): string => (secretHash === keyHash ? String(shard) : `${shard} ${keyHash}`);
    const hashes = secretsOf({ keyHash, secrets });
    await runner.plain((redis) => Promise.all(hashes.map((hash) => redis.set(keyIndexName(hash), entry(hash)))));
  };
  const endEntries = (hashes: readonly string[]): Promise<unknown> =>
    hashes.length === 0
      ? Promise.resolve()
      : runner.plain((redis) => Promise.all(hashes.map((hash) => redis.pexpire(keyIndexName(hash), lateMs))));
  return {
    indexKey,

    async putWallet(funds) {
      assertWallet(funds);
      const { shard, walletId, balanceNusd, version } = funds;
      await runner.step('putWallet', shard, [walletId, balanceNusd.toString(), version]);
    },

    async putKey(key) {
      assertKey(key);
      const [reply, secretsBefore] = await runner.step('putKey', key.shard, [
        key.keyHash,
        key.walletId,
        key.workspace.workspaceId,
        key.workspace.version,
        key.generation,
        JSON.stringify(key.record),
        key.limitFundsNusd?.toString() ?? '',
        key.fundsVersion,
        key.limitRequests,
        key.limitTokens,
        key.budgetIds.join(' '),
        key.expiresAt ?? '',
        (key.secrets ?? []).map(({ secretHash, endsAt }) => `${secretHash} ${endsAt ?? '-'}`).join(' '),
      ]);
      // An older projection may be of a key that was removed.
      if (reply === 'older') return false;
      // Written after the record, because an indexed key must have one.
      await indexKey(key);
      const named = secretsOf(key);
      await endEntries(hashesIn(String(secretsBefore)).filter((hash) => !named.includes(hash)));
      return reply === 'lacking';
    },

    async removeKey(key) {
      assertRemoved(key);
      const { shard, keyHash, generation, isNews } = key;
      const [isRemoved] = await runner.step('removeKey', shard, [keyHash, generation, isNews ? 'news' : '']);
      if (isRemoved !== 1) return;
      // The entries expire, because a later projection of a key that works again may be faster than a deletion.
      await endEntries(secretsOf(key));
    },

    async putWorkspace(workspace) {
      assertVersion(workspace);
      const { shard, workspaceId, version, ticketsSince = version, preferences } = workspace;
      const text = preferences === undefined ? '' : JSON.stringify(preferences);
      await runner.step('putWorkspace', shard, [workspaceId, version, text, ticketsSince]);
    },

    async putBudget(budget) {
      assertBudget(budget);
      const { shard, budgetId, limitNusd, version, keptSince, spent } = budget;
      await runner.step('putBudget', shard, [
        budgetId,
        limitNusd.toString(),
        version,
        keptSince,
        ...spent.flatMap(({ month, spentNusd }) => [month, spentNusd.toString()]),
      ]);
    },

    async removeBudget(budget) {
      assertVersion(budget);
      const { shard, budgetId, version, isNews } = budget;
      await runner.step('removeBudget', shard, [budgetId, version, isNews ? 'news' : '']);
    },

    async mint(request) {
      assertMint(request);
      const { shard, ticketHashes, walletId, keyHash, secretHash, generation, ttlMs, free = false } = request;
      const [result, detail, ...more] = await runner.step('mint', shard, [
        walletId,
        keyHash,
        ttlMs,
        free ? 'free' : '',
        generation,
        now(),
        secretHash ?? '',
        ...ticketHashes,
      ]);
      if (result === 'minted' || result === 'not_projected') return { result };
      if (result === 'insufficient') return { result, availableNusd: BigInt(String(detail)) };
      if (result === 'over_budget') return { result, budget: readRefusingBudget(detail, more[0], more[1]) };
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
      return entries.map(readEntry);
    },

    async takeSettlements(shard, afterId, limit) {
      const { answer, caller: reader } = await takes.step(shard, [afterId, limit]);
      return { entries: listReply(answer).map(readEntry), reader };
    },

    async book(charges) {
      assertBooked(charges);
      const { wallet, keys, budgets, holdIds } = charges;
      await runner.step('book', wallet.shard, [
        wallet.walletId,
        wallet.balanceNusd.toString(),
        wallet.version,
        keys.length,
        ...keys.flatMap((key) => [key.keyHash, key.limitFundsNusd?.toString() ?? '', key.version]),
        budgets.length,
        ...budgets.flatMap(({ budgetId, month, spentNusd }) => [budgetId, month, spentNusd.toString()]),
        ...holdIds,
      ]);
    },

    async reserve(request) {
      assertReserve(request);
      const { shard, noteId, walletId, amountNusd, balanceNusd, alone } = request;
      const wanted = [noteId, walletId, amountNusd.toString(), balanceNusd.toString(), alone ? 'alone' : ''];
      const [result, epoch] = await runner.step('reserve', shard, wanted);
      if (result === 'reserved') return { result, epoch: Number(epoch) };
      if (result === 'insufficient' || result === 'busy') return { result };
      throw new StateUnavailableError('not projected');
    },

    async forget(shard, holdIds) {
      if (holdIds.length > 0) await runner.step('forget', shard, holdIds);
    },

    async acknowledge(shard, streamId, reader) {
      runner.membership.assertCurrent(shard, reader);
      await runner.step('acknowledge', shard, [streamId]);
    },

    async readBooks(shard, { walletIds, keyHashes, budgetIds }) {
      const wanted = [walletIds.length, keyHashes.length, ...walletIds, ...keyHashes, ...budgetIds];
      const found = listReply(await runner.onShard('readBooks', shard, wanted));
      const [keysAt, budgetsAt] = [walletIds.length, walletIds.length + keyHashes.length];
      return {
        wallets: byId(walletIds, found.slice(0, keysAt).map(readFunds)),
        keys: byId(keyHashes, found.slice(keysAt, budgetsAt).map(readFunds)),
        budgets: byId(budgetIds, found.slice(budgetsAt).map(readBudget)),
      };
    },

    async readNotes(shard) {
      return runner.plain((redis) => redis.hkeys(`${shardPrefix(shard)}notes`));
    },
  };
}

const secretsOf = ({ keyHash, secrets = [] }: Pick<KeyProjection, 'keyHash' | 'secrets'>): readonly string[] => [
  ...new Set([keyHash, ...secrets.map(({ secretHash }) => secretHash)]),
];

/** The hashes in a key's `sec`, which has `hash end` pairs. */
const hashesIn = (text: string): readonly string[] =>
  text === '' ? [] : text.split(' ').filter((_, at) => at % 2 === 0);

/** Parses an entry of a stream, which Redis returns as its id and its fields with their values. */
function readEntry(entry: unknown): SettlementEntry {
  const [streamId, fields] = listReply(entry);
  const [, payload, , mac] = listReply(fields);
  return { streamId: String(streamId), payload: String(payload ?? ''), mac: String(mac ?? '') };
}

/** Maps ids to their rows. Ids without a row are omitted. */
const byId = <T>(ids: readonly string[], rows: readonly (T | undefined)[]): Map<string, T> =>
  new Map(
    ids.flatMap((id, at): [string, T][] => {
      const row = rows[at];
      return row === undefined ? [] : [[id, row]];
    }),
  );

/** Parses a script's reply about a wallet or key. Returns undefined if it is not projected. */
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

/** Parses a script's reply about a budget. Returns undefined if it is not projected. */
function readBudget(row: unknown): AuditedBudget | undefined {
  const [limit, version, ...months] = listReply(row).map(String);
  if (limit === undefined || limit === '') return undefined;
  const found = new Map<string, { spentNusd: bigint; openNusd: bigint; countedNusd: bigint }>();
  for (let at = 0; at < months.length; at += 4) {
    const [month = '', spent = '0', open = '0', counted = '0'] = months.slice(at, at + 4);
    found.set(month, { spentNusd: BigInt(spent), openNusd: BigInt(open), countedNusd: BigInt(counted) });
  }
  return { limitNusd: BigInt(limit), version: Number(version), months: found };
}
