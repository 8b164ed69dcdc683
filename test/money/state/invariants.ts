import { initialPreferences } from '@sotto/wire';
import { expect } from 'vitest';
import { type ControlTruth, fundsOf, openIn, walletIds } from './control-truth.ts';
import { type StoredShard, sumsOf } from './read-shard.ts';

/** What holds of a shard after every step: stored sums are those of holds and notes, and every amount counts where it says. */
export function expectSums(stored: StoredShard): void {
  for (const [walletId, { heldNusd, unbookedNusd }] of stored.wallets) {
    expect({ heldNusd, unbookedNusd }).toEqual(sumsOf(stored, (amount) => amount.walletId === walletId));
  }
  for (const [keyHash, { heldNusd, unbookedNusd }] of stored.keys) {
    expect({ heldNusd, unbookedNusd }).toEqual(sumsOf(stored, (amount) => amount.keyHash === keyHash));
  }
  for (const { keyHash, amountNusd } of [...stored.holds.values(), ...stored.notes.values()]) {
    if (amountNusd > 0n) expect(stored.keys.has(keyHash), 'an amount counts in no key').toBe(true);
  }
  for (const [workspaceId, { keys }] of stored.workspaces) {
    const named = [...stored.keys.values()].filter((key) => key.workspaceId === workspaceId);
    expect(keys, 'keys that name a workspace').toBe(named.length);
  }
  for (const [budgetId, { limitNusd, months }] of stored.budgets) {
    const names = [...stored.holds.values(), ...stored.notes.values()].map(({ month }) => month);
    for (const month of limitNusd === undefined ? [] : [...names, ...Object.keys(months)]) {
      expect(months[month]?.openNusd ?? 0n, 'open in a budget').toBe(openIn(stored, budgetId, month));
    }
  }
}

/** What holds once everything is settled, reaped and booked: nothing is held, and the ledger agrees. */
export function expectAtRest(stored: StoredShard | undefined, truth: ControlTruth): void {
  const ended = { heldNusd: 0n, unbookedNusd: 0n };
  expect([...(stored?.holds ?? []), ...(stored?.notes ?? [])]).toEqual([]);
  for (const [wallet, { balanceNusd, version }] of truth.accounts.entries()) {
    const found = stored?.wallets.get(walletIds[wallet] ?? '');
    expect(found).toEqual({ ...ended, fundsNusd: balanceNusd, version });
  }
  for (const { budgetId, limitNusd, version, spent } of truth.budgets) {
    const found = stored?.budgets.get(budgetId);
    if (found?.limitNusd === undefined) {
      expect(limitNusd).toBeUndefined();
      continue;
    }
    const months = [...spent].filter(([, nusd]) => nusd > 0n);
    expect(found).toEqual({
      ...{ limitNusd, version },
      months: Object.fromEntries(months.map(([month, spentNusd]) => [month, { spentNusd, openNusd: 0n }])),
    });
  }
  for (const key of truth.keys) {
    const found = stored?.keys.get(key.keyHash);
    expect(found?.workspaceId, 'a key without a record, or a record without a key').toBe(
      key.active ? `workspace-${key.wallet}` : undefined,
    );
    if (key.active) expect(found).toMatchObject({ ...ended, fundsNusd: fundsOf(key) ?? 0n });
  }
  for (const [wallet, { version, ticketsSince, isReadable }] of truth.workspaces.entries()) {
    const keys = truth.keys.filter((key) => key.wallet === wallet && key.active).length;
    if (keys === 0) continue;
    const preferences = isReadable ? initialPreferences : undefined;
    const found = stored?.workspaces.get(`workspace-${wallet}`);
    expect(found).toEqual({ version, ticketsSince, keys, preferences, isOff: !isReadable });
  }
}
