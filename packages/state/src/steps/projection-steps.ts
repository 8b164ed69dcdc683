import {
  assertBooked,
  assertBudget,
  assertKey,
  assertRemoved,
  assertReserve,
  assertVersion,
  assertWallet,
} from '../bounds.ts';
import type { AuditedBudget, AuditedFunds, RefusalCount } from '../ports/index.ts';
import type { SettlementEntry } from '../records.ts';
import { readRefusalCount } from '../refusals.ts';
import { shardCount } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { listReply, nothing } from './read-reply.ts';
import type { Steps } from './step.ts';

/** Control's writes from the ledger to a shard, and the ledger's progress in the shard's stream. */
export const projectionSteps = {
  putWallet: {
    kind: 'project',
    check: assertWallet,
    args: ([{ walletId, balanceNusd, version }]) => [walletId, balanceNusd, version],
    reply: nothing,
  },
  putKey: {
    kind: 'project',
    check: assertKey,
    args: ([{ workspace, record, budgetIds, secrets = [], ...key }]) => [
      ...[key.keyHash, key.walletId, workspace.workspaceId, workspace.version, key.generation, JSON.stringify(record)],
      ...[key.limitFundsNusd, key.fundsVersion, key.limitRequests, key.limitTokens, budgetIds.join(' '), key.expiresAt],
      secrets.map(({ secretHash, endsAt }) => `${secretHash} ${endsAt ?? '-'}`).join(' '),
      key.countsRefusals ? 1 : '',
    ],
    reply: ([result, before]) => ({
      isLacking: result === 'older' ? undefined : result === 'lacking',
      // Pairs of a hash and its end.
      before: String(before)
        .split(' ')
        .filter((hash, at) => at % 2 === 0 && hash !== ''),
    }),
  },
  removeKey: {
    kind: 'project',
    check: assertRemoved,
    args: ([{ keyHash, generation, isNews }]) => [keyHash, generation, isNews ? 'news' : ''],
    reply: ([isRemoved]) => isRemoved === 1,
  },
  putWorkspace: {
    kind: 'project',
    check: assertVersion,
    args: ([{ workspaceId, version, ticketsSince = version, preferences }]) => [
      ...[workspaceId, version, JSON.stringify(preferences), ticketsSince],
    ],
    reply: nothing,
  },
  putBudget: {
    kind: 'project',
    check: assertBudget,
    args: ([{ budgetId, limitNusd, version, keptSince, spent }]) => [
      ...[budgetId, limitNusd, version, keptSince],
      ...spent.flatMap(({ month, spentNusd }) => [month, spentNusd]),
    ],
    reply: nothing,
  },
  removeBudget: {
    kind: 'project',
    check: assertVersion,
    args: ([{ budgetId, version, isNews }]) => [budgetId, version, isNews ? 'news' : ''],
    reply: nothing,
  },
  takeSettlements: {
    kind: 'project',
    together: { common: () => '' },
    args: ([, afterId, limit]) => [afterId, limit],
    reply: (entries, _, reader) => ({ entries: entries.map(readEntry), reader }),
  },
  book: {
    kind: 'project',
    check: assertBooked,
    args: ([{ wallet, keys, budgets, holdIds }]) => [
      ...[wallet.walletId, wallet.balanceNusd, wallet.version, keys.length],
      ...keys.flatMap(({ keyHash, limitFundsNusd, version }) => [keyHash, limitFundsNusd, version]),
      budgets.length,
      ...budgets.flatMap(({ budgetId, month, spentNusd }) => [budgetId, month, spentNusd]),
      ...holdIds,
    ],
    reply: nothing,
  },
  reserve: {
    kind: 'admit',
    check: assertReserve,
    args: ([{ noteId, walletId, amountNusd, balanceNusd, alone }]) => [
      ...[noteId, walletId, amountNusd, balanceNusd, alone ? 'alone' : ''],
    ],
    reply([result, epoch]) {
      if (result === 'reserved') return { result, epoch: Number(epoch) };
      if (result === 'insufficient' || result === 'busy') return { result };
      throw new StateUnavailableError('not projected');
    },
  },
  forget: { kind: 'project', args: ([, holdIds]) => holdIds, reply: nothing },
  acknowledge: { kind: 'project', args: ([, streamId]) => [streamId], reply: nothing },
  readRefusals: {
    kind: 'none',
    together: { common: (now) => now, most: shardCount },
    args: ([, fromHour]) => [fromHour],
    reply: ([hour, ...hours]) => ({ hour: Number(hour), counts: hours.flatMap(readHour) }),
  },
  readBooks: {
    kind: 'none',
    args: ([, { walletIds, keyHashes, budgetIds }]) => [
      ...[walletIds.length, keyHashes.length],
      ...[...walletIds, ...keyHashes, ...budgetIds],
    ],
    reply(found, [, { walletIds, keyHashes, budgetIds }]) {
      const [keysAt, budgetsAt] = [walletIds.length, walletIds.length + keyHashes.length];
      return {
        wallets: byId(walletIds, found.slice(0, keysAt).map(readFunds)),
        keys: byId(keyHashes, found.slice(keysAt, budgetsAt).map(readFunds)),
        budgets: byId(budgetIds, found.slice(budgetsAt).map(readBudget)),
      };
    },
  },
} satisfies Partial<Steps>;

/** Parses an entry of a stream, which Redis returns as its id and its fields with their values. */
export function readEntry(entry: unknown): SettlementEntry {
  const [streamId, fields] = listReply(entry);
  const [, payload, , mac] = listReply(fields);
  return { streamId: String(streamId), payload: String(payload ?? ''), mac: String(mac ?? '') };
}

/** Parses an hour and its counts, which Redis returns as names of `epoch key kind` with their values. */
function readHour(found: unknown): RefusalCount[] {
  const [hour, fields] = listReply(found);
  const flat = listReply(fields).map(String);
  return flat.flatMap((name, at) => (at % 2 === 0 ? readRefusalCount(Number(hour), name, Number(flat[at + 1])) : []));
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
