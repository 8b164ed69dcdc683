import { maxNusd } from '@sotto/money';
import type { BookedCharges, KeyProjection } from '@sotto/state';
import { keyProjection } from './fixtures.ts';
import type { KeyChange } from './history.ts';

/** What control knows of a key. */
export interface KeyTruth {
  readonly keyHash: string;
  readonly wallet: number;
  generation: number;
  active: boolean;
  limitNusd: bigint | undefined;
  spentNusd: bigint;
  fundsVersion: number;
  limitRequests: number;
  limitTokens: number;
}

/** What control sends, once or more often, in this order or another. */
export type Message =
  | { readonly to: 'wallet'; readonly walletId: string; readonly balanceNusd: bigint; readonly version: number }
  | { readonly to: 'key'; readonly projection: KeyProjection }
  | { readonly to: 'books'; readonly charges: BookedCharges };

/** What a settlement says in these histories. */
export interface Charge {
  readonly holdId: string;
  readonly keyHash: string | undefined;
  readonly chargeNusd: string;
}

/** Versions pass ten in the course of a history: as text, 10 is older than 9. */
const firstVersion = 8;

export const walletIds: readonly string[] = ['wallet-a', 'wallet-b'];

/** Control's side of a history: the ledger and the keys, and every message that comes of their changes. */
export class ControlTruth {
  readonly shard: number;
  readonly unitNusd: bigint;
  readonly accounts = walletIds.map(() => ({ balanceNusd: 0n, version: firstVersion - 1 }));
  readonly keys: readonly KeyTruth[];
  readonly messages: Message[] = [];
  readonly #booked = new Set<string>();

  /** Two wallets with 100 and 20 units, three keys: one with few tokens, one with a limit of money, one with few requests. */
  constructor(shard: number, unitNusd: bigint) {
    this.shard = shard;
    this.unitNusd = unitNusd;
    this.keys = [0, 0, 1].map((wallet, index) => ({
      keyHash: `key-${index}`,
      wallet,
      generation: firstVersion,
      active: true,
      limitNusd: index === 1 ? 30n * unitNusd : undefined,
      spentNusd: 0n,
      fundsVersion: firstVersion - 1,
      limitRequests: index === 2 ? 3 : 100,
      limitTokens: index === 0 ? 60 : 10_000,
    }));
    this.deposit(0, 100);
    this.deposit(1, 20);
    for (const key of this.keys) this.#project(key);
  }

  deposit(wallet: number, units: number): void {
    const account = this.accounts[wallet];
    const amountNusd = BigInt(units) * this.unitNusd;
    // The edge refuses what would take a balance beyond the numbers that Redis holds exactly.
    if (account === undefined || account.balanceNusd + amountNusd > maxNusd) return;
    account.balanceNusd += amountNusd;
    account.version += 1;
    this.messages.push({ to: 'wallet', walletId: walletIds[wallet] ?? '', ...account });
  }

  changeKey(index: number, change: KeyChange): void {
    const key = this.keys[index];
    if (key === undefined) return;
    key.generation += 1;
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

  /** What a step of the settler does: debits each hold once, and says what it has by a message a wallet. */
  book(charges: readonly Charge[]): void {
    for (const [wallet, account] of this.accounts.entries()) {
      const ofWallet = charges.filter(({ keyHash }) => this.#key(keyHash)?.wallet === wallet);
      if (ofWallet.length === 0) continue;
      const changed = new Set<KeyTruth>();
      for (const { holdId, keyHash, chargeNusd } of ofWallet) {
        const key = this.#key(keyHash);
        if (key === undefined || this.#booked.has(holdId)) continue;
        this.#booked.add(holdId);
        account.balanceNusd -= BigInt(chargeNusd);
        key.spentNusd += BigInt(chargeNusd);
        key.fundsVersion += 1;
        changed.add(key);
      }
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
          holdIds: ofWallet.map(({ holdId }) => holdId),
        },
      });
    }
  }

  #key(keyHash: string | undefined): KeyTruth | undefined {
    return this.keys.find((key) => key.keyHash === keyHash);
  }

  #project(key: KeyTruth): void {
    key.fundsVersion += 1;
    const { keyHash, generation, active, fundsVersion, limitRequests, limitTokens } = key;
    const projection = keyProjection({
      ...{ shard: this.shard, keyHash, walletId: walletIds[key.wallet] ?? '', generation, active },
      ...{ fundsVersion, limitFundsNusd: fundsOf(key), limitRequests, limitTokens },
    });
    this.messages.push({ to: 'key', projection });
  }
}

/** What the ledger says is left of a key's limit. */
export const fundsOf = ({ limitNusd, spentNusd }: KeyTruth): bigint | undefined =>
  limitNusd === undefined ? undefined : limitNusd - spentNusd;
