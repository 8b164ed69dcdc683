import type { Settlement, ShardData } from '@sotto/state';
import type { SimulatedKey, SimulatedLedger } from './ledger.ts';
import type { Process } from './network.ts';

/** The rules of design 5, and what they are judged by. Each of the three throws `Broken` where one does not hold. */

export interface JudgedRequest {
  readonly holdId: string;
  readonly broker: { readonly process: Process };
  readonly key: SimulatedKey;
  readonly amountNusd: bigint;
  state: 'asking' | 'running' | 'ended' | 'refused';
  /** Why it may be that money was spent twice over: a rollback that nobody could have noticed yet, a lapsed lease. */
  excused: boolean;
  chargeNusd: bigint;
  accepted: boolean;
  /** Redis lost its settlement after it was accepted: it is charged if its broker lives to hand it over anew. */
  isLost: boolean;
}

export interface Judged {
  /** What the shard holds. */
  readonly data: Readonly<ShardData>;
  readonly ledger: SimulatedLedger;
  /** All there ever were, by hold id. */
  readonly requests: ReadonlyMap<string, JudgedRequest>;
  /** Those that run, or that are not booked yet. */
  readonly open: ReadonlySet<JudgedRequest>;
}

/** A rule that does not hold. */
export class Broken extends Error {}

/** After every step: no wallet below zero, each charge is its request's, none is beyond a wallet without an excuse. */
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
}

/**
 * After every step of an open shard that nobody has yet to find a loss in: sums are of what they sum up, and nothing that
 * may still be charged is available to others.
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
}

/** When everything has come to rest: nothing is left over, the state agrees with the ledger, and all is charged that must be. */
export function judgeRest({ data, ledger, requests }: Judged): void {
  const left = { holds: [...data.holds.keys()], notes: [...data.notes.keys()], stream: data.stream.length };
  if (left.holds.length + left.notes.length + left.stream > 0) throw new Broken(`left over: ${JSON.stringify(left)}`);
  for (const { walletId, balanceNusd, toppedUpNusd } of ledger.accounts) {
    const wallet = data.wallets.get(walletId);
    if (wallet?.fundsNusd !== balanceNusd || wallet.heldNusd !== 0n || wallet.unbookedNusd !== 0n) {
      throw new Broken(`${walletId} is not what the ledger says`);
    }
    const charged = chargedTo(ledger, requests, walletId);
    if (toppedUpNusd - charged !== balanceNusd) throw new Broken(`${walletId} does not add up`);
  }
  for (const { holdId, accepted, chargeNusd, broker, isLost } of requests.values()) {
    const mustBeBooked = chargeNusd > 0n && (broker.process.isAlive || (accepted && !isLost));
    if (mustBeBooked && !ledger.booked.has(holdId)) throw new Broken(`${holdId} was not charged`);
  }
  if (ledger.rejected.length > 0) throw new Broken('settlements were rejected');
}

/** What may still be charged to a wallet: every request that runs or is not booked, by what it can come to. */
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
