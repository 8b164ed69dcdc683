import { randomBytes } from 'node:crypto';
import { auditPage, Settler } from '@sotto/control';
import {
  controlClient,
  createMemoryState,
  EpochKeeper,
  type EpochKeeperDependencies,
  type EpochLedger,
  emptyShard,
  LeaseKeeper,
  MemoryStore,
  StateUnavailableError,
  shards,
} from '@sotto/state';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { leaseMs, openEpoch } from './fixtures.ts';

const shard = 0;

/** A ledger that stores only epochs. It answers every other query of a rebuild with no rows. */
function ledgerOf(
  epochs: Map<number, number>,
  project: () => Promise<void>,
  seen: readonly string[] = [],
): EpochLedger {
  return {
    epochOf: async (at) => epochs.get(at) ?? 0,
    recordEpoch: async (at, epoch) => {
      epochs.set(at, Math.max(epoch, epochs.get(at) ?? 0));
    },
    noteClients: async () => {},
    clientsSeen: async () => seen,
    openRef: () => undefined,
    attribute: async () => new Map(),
    bookedOf: async () => new Set(),
    drain: async () => {},
    project,
  };
}

function keeperOf(
  state: EpochKeeperDependencies['state'],
  ledger: EpochLedger,
  shards: readonly number[],
): EpochKeeper {
  return new EpochKeeper({
    ...{ state, ledger, shards, macKey: randomBytes(32), now: () => performance.now(), isAlone: false },
    ...{ onOpened: () => {}, onUndeclared: () => {}, onUnreadable: () => {} },
  });
}

test('a control plane does not open an epoch that another one began while it projected into the one before', async () => {
  const store = new MemoryStore(Date.now);
  const [a, b] = [createMemoryState({ store }), createMemoryState({ store })];
  const epochs = new Map<number, number>();
  const leases = new LeaseKeeper({ state: a, declare: () => undefined, shards: [shard] });
  const wallet = (walletId: string) => a.putWallet({ shard, walletId, balanceNusd: 1n, version: 1 });
  const keeper = keeperOf(
    a,
    ledgerOf(epochs, async () => {
      await wallet('first page');
      // While control reads the next page from Postgres, Redis loses everything. The other control begins a new epoch,
      // and our lease follows it.
      store.shard(shard).failOver(emptyShard());
      expect(await b.beginEpoch(shard, 2)).toBe(true);
      await leases.renew();
      await wallet('second page');
    }),
    [shard],
  );
  await expect(keeper.maintain()).rejects.toThrow(StateUnavailableError);
  expect((await b.readMembers(shard)).isOpen).toBe(false);
});

test('a lease is renewed without saying each second what is held', async () => {
  const store = new MemoryStore(Date.now);
  const [control, broker] = [createMemoryState({ store }), createMemoryState({ store })];
  let declared = 0;
  const declare = () => {
    declared += 1;
    return { payload: 'holds', mac: 'mac' };
  };
  const open = async (epoch: number) => {
    await control.beginEpoch(shard, epoch);
    const join = () => control.join(shard, { declaration: undefined, leaseMs });
    await join().catch(join);
    await leases.renew();
    await control.admitDeclared(shard, broker.membership.caller(shard).client, { leaseMs, holds: [], charges: [] });
    await control.openEpoch(shard);
    await leases.renew();
    expect(leases.isSettled).toBe(true);
  };
  const leases = new LeaseKeeper({ state: broker, declare, shards: [shard] });
  await open(1);
  const before = declared;
  for (let renewals = 0; renewals < 5; renewals += 1) await leases.renew();
  expect([declared, leases.isSettled]).toEqual([before, true]);

  await control.discardEpoch(shard, 1);
  await open(2);
  expect(declared).toBeGreaterThan(before);
});

test('a shard that cannot be reached keeps no other from being opened', async () => {
  const store = new MemoryStore(Date.now);
  const state = createMemoryState({ store });
  const away = async () => {
    throw new StateUnavailableError('away');
  };
  const keeper = keeperOf(
    { ...state, readMembers: (at) => (at === 0 ? away() : state.readMembers(at)) },
    ledgerOf(new Map(), async () => {}),
    [0, 1],
  );
  await expect(keeper.maintain()).rejects.toThrow(StateUnavailableError);
  expect((await state.readMembers(1)).isOpen).toBe(true);
  expect(keeper.isSettled).toBe(false);
});

test('a shard whose notes cannot be read keeps those of no other from being swept', async () => {
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  await openEpoch(state);
  const swept: number[] = [];
  const readNotes = async (at: number): Promise<string[]> => {
    if (at === 0) throw new StateUnavailableError('away');
    swept.push(at);
    return [];
  };
  const keeper = keeperOf(
    { ...state, readNotes },
    ledgerOf(new Map(), async () => {}),
    [0, 1],
  );
  await expect(keeper.maintain()).rejects.toThrow(StateUnavailableError);
  expect(swept).toEqual([1]);
});

test('a shard that cannot be reached keeps no other from being settled', async () => {
  const asked: number[] = [];
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  const settler = new Settler({
    state: {
      ...state,
      takeSettlements: async (at) => {
        asked.push(at);
        if (at === 0) throw new StateUnavailableError('away');
        return { entries: [], reader: { client: 'control', epoch: 1 } };
      },
    },
    ledger: { book: never, setAside: never, unbookable: never, rebooked: never, isRefusal: () => false },
    ...{ settlementMacKey: randomBytes(32), accountRefKey: randomBytes(32) },
    events: { shortfall: () => {}, waived: () => {}, booked: () => {}, settlementRejected: () => {} },
  });
  expect(await settler.settleAll()).toBe(false);
  expect([settler.isJoined, asked]).toEqual([false, []]);
  await openEpoch(state);
  await expect(settler.settleAll()).rejects.toThrow(StateUnavailableError);
  expect([settler.isJoined, asked]).toEqual([true, shards]);
});

const never = async (): Promise<never> => {
  throw new Error('not to be called');
};

test.each([
  [controlClient(), true],
  ['a-broker', false],
])(
  'a shard that begins anew waits for who may hold something: of %s, who died, it is open at once: %s',
  async (client, isOpen) => {
    const state = createMemoryState({ store: new MemoryStore(Date.now) });
    await keeperOf(
      state,
      ledgerOf(new Map(), async () => {}, [client]),
      [shard],
    ).maintain();
    expect((await state.readMembers(shard)).isOpen).toBe(isOpen);
  },
);

test('the audit finds nothing wrong in a state that is being rebuilt, and finds it in one that is open', async () => {
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  const account = { id: 'account', wallet_id: 'wallet', balance_nusd: '5', version: '1' };
  // A Postgres stand-in with one account, no keys and no budgets.
  const query = async (sql: string) => ({ rows: /api_keys|budgets/.test(sql) ? [] : [account] });
  const page = () => auditPage({ pool: { query } as unknown as pg.Pool, state, sleep: async () => {} });
  await expect(page()).rejects.toThrow(StateUnavailableError);
  await openEpoch(state);
  expect((await page()).findings).toEqual([expect.objectContaining({ what: 'a wallet is not in the state' })]);
});
