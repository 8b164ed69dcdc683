import type { Settlement, ShardData } from '@sotto/state';
import type { SimulatedAccount, SimulatedKey, SimulatedLedger } from './ledger.ts';
import type { Process } from './network.ts';

/**
 * The rules about money (docs/concepts/holds-and-charges.md), and the records that they are checked against. Each of
 * the three functions throws `Broken` if a rule does not hold.
 */

export interface JudgedRequest {
  readonly holdId: string;
  readonly broker: { readonly process: Process };
  readonly key: SimulatedKey;
  readonly amountNusd: bigint;
  state: 'asking' | 'running' | 'ended' | 'refused';
  /**
   * Money may legitimately be spent twice after a rollback that no process could notice yet, or after a lapsed lease.
   */
  excused: boolean;
  /** The month of its hold. Empty: not admitted. */
  month: string;
  chargeNusd: bigint;
  accepted: boolean;
  /** Redis lost the settlement after accepting it. It is charged only if its broker lives to hand it over again. */
  isLost: boolean;
}

export interface Judged {
  /** The contents of the shard. */
  readonly data: Readonly<ShardData>;
  readonly ledger: SimulatedLedger;
  /** Every request so far, by hold id. */
  readonly requests: ReadonlyMap<string, JudgedRequest>;
  /** Requests that run or are not booked yet. */
  readonly open: ReadonlySet<JudgedRequest>;
}

/** A rule that does not hold. */
export class Broken extends Error {}

/**
 * After every step: no wallet is below zero, each charge is its request's, and only an excuse allows a charge beyond a
 * wallet or a month's budget.
 */
export function judgeLedger({ ledger, requests }: Judged): void {
  for (const { balanceNusd } of ledger.accounts) {
    if (balanceNusd < 0n) throw new Broken('a wallet is below zero');
  }
  for (const [holdId, charge] of ledger.booked) {
    const request = requests.get(holdId);
    if (request !== undefined && charge !== request.chargeNusd) throw new Broken('another charge than the request’s');
  }
  for (const { walletId } of ledger.shortfalls) {
    if (!isExcused(requests, walletId)) throw new Broken(`charges beyond ${walletId}`);
  }
  for (const { walletId, budget } of ledger.accounts) {
    for (const [month, spentNusd] of budget.spent) {
      if (spentNusd <= (budget.highestNusd ?? spentNusd) || isExcused(requests, walletId)) continue;
      throw new Broken(`charges beyond the budget of ${walletId} in ${month}`);
    }
  }
}

/**
 * After every step of an open shard in which no process has yet to notice a loss: sums equal their parts, and money
 * that may still be charged is not available to other requests.
 */
export function judgeShard(judged: Judged): void {
  const { data, ledger } = judged;
  const streamed = data.stream.map(({ payload }) => JSON.parse(payload) as Settlement);
  for (const { walletId, balanceNusd } of ledger.accounts) {
    const wallet = data.wallets.get(walletId);
    if (wallet === undefined) continue;
    const available = wallet.fundsNusd - wallet.heldNusd - wallet.unbookedNusd;
    const exposed = exposedOf(judged, streamed, walletId);
    const sum = [...exposed.values()].reduce((total, nusd) => total + nusd, 0n);
    for (const [kind, amounts, total] of [
      ['holds', data.holds, wallet.heldNusd],
      ['notes', data.notes, wallet.unbookedNusd],
    ] as const) {
      const ofWallet = [...amounts.values()].filter((each) => each.walletId === walletId);
      const sumOf = ofWallet.reduce((added, { amountNusd }) => added + amountNusd, 0n);
      if (sumOf !== total) throw new Broken(`${kind} of ${walletId} are ${sumOf}, not ${total}`);
    }
    if (available <= balanceNusd - sum) continue;
    const missing = [...exposed].filter(([id]) => !data.holds.has(id) && !data.notes.has(id));
    throw new Broken(
      `${available} of ${balanceNusd} is available beside ${sum}; not in the state: ${missing.join(' ')}`,
    );
  }
  for (const account of ledger.accounts) judgeBudget(judged, streamed, account);
}

/** Everything that was or may still be charged to a month counts in the budget. Its sums equal their parts. */
function judgeBudget(judged: Judged, streamed: readonly Settlement[], { walletId, budget }: SimulatedAccount): void {
  const { data, requests } = judged;
  const stored = data.budgets.get(budget.budgetId);
  if (stored === undefined || stored.version < 0) return;
  const exposed = exposedOf(judged, streamed, walletId);
  const months = new Set([
    ...stored.months.keys(),
    ...budget.spent.keys(),
    ...[...requests.values()].map((r) => r.month),
  ]);
  for (const month of months) {
    const { spentNusd, openNusd } = stored.months.get(month) ?? { spentNusd: 0n, openNusd: 0n };
    const counted = [...data.holds.values(), ...data.notes.values()].filter(
      (each) => each.month === month && each.budgetIds.includes(budget.budgetId),
    );
    const sum = counted.reduce((added, each) => added + each.amountNusd, 0n);
    if (sum !== openNusd) throw new Broken(`${openNusd} is open in ${month}, not ${sum}`);
    let due = budget.spent.get(month) ?? 0n;
    for (const [id, nusd] of exposed) if (requests.get(id)?.month === month) due += nusd;
    if (spentNusd + openNusd < due) throw new Broken(`${month} counts ${spentNusd} and ${openNusd}, not ${due}`);
  }
}

/** At rest: nothing is left over, the state agrees with the ledger, and every due charge was made. */
export function judgeRest({ data, ledger, requests }: Judged): void {
  const left = { holds: [...data.holds.keys()], notes: [...data.notes.keys()], stream: data.stream.length };
  if (left.holds.length + left.notes.length + left.stream > 0) throw new Broken(`left over: ${JSON.stringify(left)}`);
  for (const { walletId, balanceNusd, toppedUpNusd, withdrawnNusd, budget } of ledger.accounts) {
    for (const [month, nusd] of budget.limitNusd === undefined ? [] : budget.spent) {
      const stored = data.budgets.get(budget.budgetId)?.months.get(month)?.spentNusd ?? 0n;
      if (stored !== nusd) throw new Broken(`${stored} was spent in ${month}, not ${nusd}`);
    }
    const wallet = data.wallets.get(walletId);
    if (wallet?.fundsNusd !== balanceNusd || wallet.heldNusd !== 0n || wallet.unbookedNusd !== 0n) {
      throw new Broken(`${walletId} is not what the ledger says`);
    }
    const charged = chargedTo(ledger, requests, walletId);
    if (toppedUpNusd - withdrawnNusd - charged !== balanceNusd) throw new Broken(`${walletId} does not add up`);
  }
  for (const { holdId, accepted, chargeNusd, broker, isLost } of requests.values()) {
    const mustBeBooked = chargeNusd > 0n && (broker.process.isAlive || (accepted && !isLost));
    if (mustBeBooked && !ledger.booked.has(holdId)) throw new Broken(`${holdId} was not charged`);
  }
  if (ledger.rejected.length > 0) throw new Broken('settlements were rejected');
}

/**
 * The amounts that may still be charged to a wallet: for each request that runs or is not booked, its largest charge.
 */
function exposedOf(
  { ledger, requests, open }: Judged,
  streamed: readonly Settlement[],
  walletId: string,
): ReadonlyMap<string, bigint> {
  const exposed = new Map<string, bigint>();
  for (const { id, chargeNusd } of streamed) {
    const request = requests.get(id);
    if (ledger.booked.has(id) || request?.key.account.walletId !== walletId || request.excused) continue;
    exposed.set(id, BigInt(chargeNusd));
  }
  for (const { holdId, key, excused, state, chargeNusd, amountNusd } of open) {
    if (key.account.walletId !== walletId || excused || ledger.booked.has(holdId)) continue;
    exposed.set(holdId, state === 'ended' ? chargeNusd : amountNusd);
  }
  return exposed;
}

function isExcused(requests: Judged['requests'], walletId: string): boolean {
  for (const request of requests.values()) {
    if (request.excused && request.key.account.walletId === walletId) return true;
  }
  return false;
}

function chargedTo(ledger: SimulatedLedger, requests: Judged['requests'], walletId: string): bigint {
  let sum = 0n;
  for (const [holdId, charge] of ledger.booked) {
    if (requests.get(holdId)?.key.account.walletId === walletId) sum += charge;
  }
  for (const { walletId: id, nusd } of ledger.shortfalls) if (id === walletId) sum -= nusd;
  return sum;
}
