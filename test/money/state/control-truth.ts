import { maxNusd } from '@sotto/money';
import type {
  BookedCharges,
  BudgetProjection,
  KeyProjection,
  RemovedBudget,
  RemovedKey,
  WorkspaceProjection,
} from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { keyProjection } from './fixtures.ts';
import type { KeyChange } from './history.ts';
import type { StoredShard } from './read-shard.ts';

/** Control's record of a key. */
export interface KeyTruth {
  readonly keyHash: string;
  readonly wallet: number;
  /** Those of its workspace, its member, its present tag and itself. */
  budgetIds: readonly string[];
  generation: number;
  active: boolean;
  limitNusd: bigint | undefined;
  spentNusd: bigint;
  fundsVersion: number;
  limitRequests: number;
  limitTokens: number;
}

/** Control's record of a budget. */
export interface BudgetTruth {
  readonly budgetId: string;
  limitNusd: bigint | undefined;
  version: number;
  readonly spent: Map<string, bigint>;
}

/** A message from control. It may arrive more than once and in any order. */
export type Message =
  | { readonly to: 'wallet'; readonly walletId: string; readonly balanceNusd: bigint; readonly version: number }
  | { readonly to: 'key'; readonly projection: KeyProjection; readonly workspace: number }
  | { readonly to: 'removed key'; readonly removed: RemovedKey }
  | { readonly to: 'workspace'; readonly projection: WorkspaceProjection }
  | { readonly to: 'budget'; readonly projection: BudgetProjection }
  | { readonly to: 'removed budget'; readonly removed: RemovedBudget }
  | { readonly to: 'books'; readonly charges: BookedCharges }
  | { readonly to: 'forget'; readonly noteId: string };

/** The content of a settlement in these histories. */
export interface Charge {
  readonly holdId: string;
  readonly keyHash: string | undefined;
  readonly chargeNusd: string;
  /** The month of the hold. */
  readonly month: string;
  /** The budgets of the key when the hold was placed, as its account reference tells them. */
  readonly budgetIds: readonly string[];
}

/** Versions exceed ten in the course of a history, because as text 10 sorts before 9. */
const firstVersion = 8;

export const walletIds: readonly string[] = ['wallet-a', 'wallet-b'];

/** Control's side of a history: the ledger, the keys, and every message about their changes. */
export class ControlTruth {
  readonly shard: number;
  readonly unitNusd: bigint;
  readonly accounts = walletIds.map(() => ({ balanceNusd: 0n, version: firstVersion - 1 }));
  readonly keys: readonly KeyTruth[];
  readonly budgets: readonly BudgetTruth[];
  /** The version of the preferences of each wallet's workspace, and whether they are readable. */
  readonly workspaces = walletIds.map(() => ({ version: firstVersion, ticketsSince: firstVersion, isReadable: true }));
  readonly messages: Message[] = [];
  readonly #booked = new Set<string>();

  /**
   * Creates two wallets with 100 and 20 units, and three keys: one with few tokens, one with a money limit, one with
   * few requests. The budgets of the first wallet limit its workspace (50 units), the first key's member, the second key (10), and the
   * tag that both keys have at first (20).
   */
  constructor(shard: number, unitNusd: bigint) {
    this.shard = shard;
    this.unitNusd = unitNusd;
    this.keys = [0, 0, 1].map((wallet, index) => ({
      keyHash: `key-${index}`,
      wallet,
      budgetIds: budgetsOf(wallet, index, 'a'),
      generation: firstVersion,
      active: true,
      limitNusd: index === 1 ? 30n * unitNusd : undefined,
      spentNusd: 0n,
      fundsVersion: firstVersion - 1,
      limitRequests: index === 2 ? 3 : 100,
      limitTokens: index === 0 ? 60 : 10_000,
    }));
    this.budgets = ['workspace:0', 'member:0', 'key:1', 'tag:0-a'].map((budgetId) => ({
      ...{ budgetId, limitNusd: undefined, version: firstVersion, spent: new Map() },
    }));
    this.deposit(0, 100);
    this.deposit(1, 20);
    for (const key of this.keys) this.#project(key);
    this.setBudget(0, 50);
    this.setBudget(2, 10);
    this.setBudget(3, 20);
  }

  deposit(wallet: number, units: number): void {
    const account = this.accounts[wallet];
    const amountNusd = BigInt(units) * this.unitNusd;
    // The edge refuses a credit that takes a balance beyond the integers that Redis holds exactly.
    if (account === undefined || account.balanceNusd + amountNusd > maxNusd) return;
    account.balanceNusd += amountNusd;
    account.version += 1;
    this.messages.push({ to: 'wallet', walletId: walletIds[wallet] ?? '', ...account });
  }

  /** Ends a reservation: the money leaves the ledger, or the note alone goes. */
  endReservation(wallet: number, reserved: { noteId: string; amountNusd: bigint; leaves: boolean }): void {
    const account = this.accounts[wallet];
    const { noteId, amountNusd, leaves } = reserved;
    if (account === undefined || !leaves) return void this.messages.push({ to: 'forget', noteId });
    account.balanceNusd -= amountNusd;
    account.version += 1;
    const funds = { shard: this.shard, walletId: walletIds[wallet] ?? '', ...account };
    this.messages.push({ to: 'books', charges: { wallet: funds, keys: [], budgets: [], holdIds: [noteId] } });
  }

  changeKey(index: number, change: KeyChange): void {
    const key = this.keys[index];
    if (key === undefined) return;
    if (change.what === 'preferences') {
      this.#changePreferences(key.wallet, change);
      return;
    }
    key.generation += 1;
    if (change.what === 'tag') key.budgetIds = budgetsOf(key.wallet, index, change.tag);
    if (change.what === 'revoke') key.active = !key.active;
    if (change.what === 'limit') {
      key.limitNusd = change.units === undefined ? undefined : BigInt(change.units) * this.unitNusd;
    }
    if (change.what === 'rates') {
      key.limitRequests = change.requests;
      key.limitTokens = change.tokens;
    }
    this.#project(key);
  }

  setBudget(index: number, units: number | undefined): void {
    const budget = this.budgets[index];
    if (budget === undefined) return;
    budget.limitNusd = units === undefined ? undefined : BigInt(units) * this.unitNusd;
    budget.version += 1;
    const { budgetId, limitNusd, version, spent } = budget;
    if (limitNusd === undefined) {
      const removed = { shard: this.shard, budgetId, version, isNews: true };
      return void this.messages.push({ to: 'removed budget', removed });
    }
    const months = [...spent].map(([month, spentNusd]) => ({ month, spentNusd }));
    const projection = { shard: this.shard, budgetId, limitNusd, version, keptSince: '', spent: months };
    this.messages.push({ to: 'budget', projection });
  }

  /** One step of the settler: debits each hold once, and sends one message for each wallet. */
  book(charges: readonly Charge[]): void {
    for (const [wallet, account] of this.accounts.entries()) {
      const ofWallet = charges.filter(({ keyHash }) => this.#key(keyHash)?.wallet === wallet);
      if (ofWallet.length === 0) continue;
      const changed = new Set<KeyTruth>();
      const spends = new Set<`${string} ${string}`>();
      for (const { holdId, keyHash, chargeNusd, month, budgetIds } of ofWallet) {
        const key = this.#key(keyHash);
        if (key === undefined || this.#booked.has(holdId)) continue;
        this.#booked.add(holdId);
        account.balanceNusd -= BigInt(chargeNusd);
        key.spentNusd += BigInt(chargeNusd);
        key.fundsVersion += 1;
        changed.add(key);
        for (const budget of this.budgets) {
          if (!budgetIds.includes(budget.budgetId)) continue;
          budget.spent.set(month, (budget.spent.get(month) ?? 0n) + BigInt(chargeNusd));
        }
      }
      for (const { month, budgetIds } of ofWallet) for (const id of budgetIds) spends.add(`${id} ${month}`);
      account.version += 1;
      this.messages.push({
        to: 'books',
        charges: {
          wallet: { shard: this.shard, walletId: walletIds[wallet] ?? '', ...account },
          keys: [...changed].map((key) => ({
            keyHash: key.keyHash,
            limitFundsNusd: fundsOf(key),
            version: key.fundsVersion,
          })),
          budgets: this.budgets.flatMap(({ budgetId, spent }) =>
            [...spent].flatMap(([month, spentNusd]) =>
              spends.has(`${budgetId} ${month}`) ? [{ budgetId, month, spentNusd }] : [],
            ),
          ),
          holdIds: ofWallet.map(({ holdId }) => holdId),
        },
      });
    }
  }

  #key(keyHash: string | undefined): KeyTruth | undefined {
    return this.keys.find((key) => key.keyHash === keyHash);
  }

  /** The preferences of a wallet's workspace, as control reads them now. */
  preferencesOf(wallet: number): WorkspaceProjection {
    const none = { version: 0, ticketsSince: 0, isReadable: false };
    const { version, ticketsSince, isReadable } = this.workspaces[wallet] ?? none;
    const preferences = isReadable ? initialPreferences : undefined;
    return { shard: this.shard, workspaceId: `workspace-${wallet}`, version, ticketsSince, preferences };
  }

  #changePreferences(
    wallet: number,
    { areReadable, areLooser }: { readonly areReadable: boolean; readonly areLooser: boolean },
  ): void {
    const workspace = this.workspaces[wallet];
    if (workspace === undefined) return;
    workspace.version += 1;
    if (!areLooser) workspace.ticketsSince = workspace.version;
    workspace.isReadable = areReadable;
    this.messages.push({ to: 'workspace', projection: this.preferencesOf(wallet) });
  }

  #project(key: KeyTruth): void {
    key.fundsVersion += 1;
    const { keyHash, generation, active, fundsVersion, limitRequests, limitTokens, budgetIds, wallet } = key;
    if (!active) {
      const removed = { shard: this.shard, keyHash, generation, isNews: true };
      return void this.messages.push({ to: 'removed key', removed });
    }
    const projection = keyProjection({
      ...{ shard: this.shard, keyHash, walletId: walletIds[wallet] ?? '', generation },
      ...{ fundsVersion, limitFundsNusd: fundsOf(key), limitRequests, limitTokens, budgetIds },
      countsRefusals: keyHash !== this.keys[1]?.keyHash,
      workspace: this.preferencesOf(wallet),
    });
    this.messages.push({ to: 'key', projection, workspace: wallet });
  }
}

const budgetsOf = (wallet: number, key: number, tag: string | undefined): readonly string[] => [
  ...[`workspace:${wallet}`, `member:${key}`],
  ...(tag === undefined ? [] : [`tag:${wallet}-${tag}`]),
  `key:${key}`,
];

/** The remainder of a key's limit according to the ledger. */
export const fundsOf = ({ limitNusd, spentNusd }: KeyTruth): bigint | undefined =>
  limitNusd === undefined ? undefined : limitNusd - spentNusd;

/** An amount of a key, in whose budgets of then it counts. */
export interface KeyAmount {
  readonly key: KeyTruth | undefined;
  readonly budgetIds: readonly string[];
  readonly amountNusd: bigint;
}

/** The amount that a key's wallet, limit and budgets of a month still allow. */
export function availableIn(
  stored: StoredShard | undefined,
  { key, budgetIds }: Pick<KeyAmount, 'key' | 'budgetIds'>,
  month: string,
  taken: readonly KeyAmount[],
): { walletNusd: bigint; keyNusd: bigint | undefined; budgetsNusd: readonly bigint[] } {
  const takenBy = (isSame: (other: KeyTruth) => boolean): bigint =>
    taken.reduce((sum, other) => (other.key !== undefined && isSame(other.key) ? sum + other.amountNusd : sum), 0n);
  const left = ({ fundsNusd, heldNusd, unbookedNusd }: Record<'fundsNusd' | 'heldNusd' | 'unbookedNusd', bigint>) =>
    fundsNusd - heldNusd - unbookedNusd;
  const wallet = stored?.wallets.get(walletIds[key?.wallet ?? -1] ?? '');
  const limit = stored?.keys.get(key?.keyHash ?? '');
  return {
    walletNusd: wallet === undefined ? -1n : left(wallet) - takenBy((other) => other.wallet === key?.wallet),
    budgetsNusd: budgetIds.flatMap((id) => {
      const budget = stored?.budgets.get(id);
      if (budget?.limitNusd === undefined) return [];
      const ofTaken = taken.filter((other) => other.budgetIds.includes(id));
      const open = ofTaken.reduce((sum, { amountNusd }) => sum + amountNusd, openIn(stored, id, month));
      return [budget.limitNusd - (budget.months[month]?.spentNusd ?? 0n) - open];
    }),
    keyNusd: limit?.limited ? left(limit) - takenBy((other) => other === key) : undefined,
  };
}

/** The sum of the holds and notes that count in a budget's month. */
export const openIn = (stored: StoredShard | undefined, budgetId: string, month: string): bigint =>
  [...(stored?.holds.values() ?? []), ...(stored?.notes.values() ?? [])].reduce(
    (sum, each) => (each.month === month && each.budgetIds.includes(budgetId) ? sum + each.amountNusd : sum),
    0n,
  );
