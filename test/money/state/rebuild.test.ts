import { randomBytes } from 'node:crypto';
import { auditPage, Settler } from '@sotto/control';
import {
  type AuditedBudget,
  controlClient,
  createMemoryState,
  EpochKeeper,
  type EpochKeeperDependencies,
  type EpochLedger,
  emptyShard,
  indexShardOfKey,
  LeaseKeeper,
  MemoryStore,
  monthBefore,
  monthOf,
  type State,
  StateUnavailableError,
  shardOfWallet,
  shards,
} from '@sotto/state';
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { leaseMs, openEpoch, outcome, projectorTo, walletIds } from './fixtures.ts';

const shard = 0;
const unavailable = async (): Promise<never> => {
  throw new StateUnavailableError('away');
};

/** A ledger that stores only epochs. It answers every other query of a rebuild with no rows. */
function ledgerOf(
  epochs: Map<number, number>,
  project: EpochLedger['project'],
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
    endedOf: async () => new Set(),
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
      return new Map();
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
  const keeper = keeperOf(
    { ...state, readMembers: (at) => (at === 0 ? unavailable() : state.readMembers(at)) },
    ledgerOf(new Map(), async () => new Map()),
    [0, 1],
  );
  await expect(keeper.maintain()).rejects.toThrow(StateUnavailableError);
  expect((await state.readMembers(1)).isOpen).toBe(true);
  expect(keeper.isSettled).toBe(false);
});

describe('a shard that lacks a record', () => {
  const lacking = shardOfWallet('wallet-0');
  const index = indexShardOfKey('key-0');
  const damages: [string, readonly number[], (state: State) => Partial<State>][] = [
    [
      'of a wallet',
      [lacking],
      (state) => ({ putWallet: (put) => (put.walletId === 'wallet-0' ? unavailable() : state.putWallet(put)) }),
    ],
    [
      'of a key',
      [lacking],
      (state) => ({ putKey: (put) => (put.keyHash === 'key-0' ? unavailable() : state.putKey(put)) }),
    ],
    [
      'of a key and of the index',
      [lacking, index],
      (state) => ({
        putKey: (put) => (put.keyHash === 'key-0' ? unavailable() : state.putKey(put)),
        indexKey: (put) => (put.keyHash === 'key-0' ? unavailable() : state.indexKey(put)),
      }),
    ],
    [
      'of a budget',
      [lacking],
      (state) => ({ putBudget: (put) => (put.shard === lacking ? unavailable() : state.putBudget(put)) }),
    ],
  ];
  test.each(damages)('%s stays closed, keeps no other closed, and later opens', async (_, closed, damage) => {
    expect(index).not.toBe(lacking);
    const state = createMemoryState({ store: new MemoryStore(Date.now) });
    const damaged = { ...state, ...damage(state) };
    const epochs = new Map<number, number>();
    const project = (to: State) => (requested: ReadonlySet<number>) => projectorTo(to).project(requested);
    const openShards = async () => {
      const members = await Promise.all(shards.map((at) => state.readMembers(at)));
      return shards.filter((at) => members[at]?.isOpen);
    };
    await expect(keeperOf(state, ledgerOf(epochs, project(damaged)), shards).maintain()).rejects.toThrow('away');
    expect(await openShards()).toEqual(shards.filter((at) => !closed.includes(at)));
    // No key of an open shard's index is unknown. The records of open shards are complete.
    const keys = await Promise.all(walletIds.map((_, at) => outcome(state.lookupKey(`key-${at}`))));
    for (const [at, key] of keys.entries()) {
      expect(key).not.toEqual({ answer: undefined });
      const needed = [shardOfWallet(walletIds[at] ?? ''), indexShardOfKey(`key-${at}`)];
      if (!needed.some((one) => closed.includes(one))) expect(key).toEqual({ answer: expect.anything() });
    }
    await keeperOf(state, ledgerOf(epochs, project(state)), shards).maintain();
    expect(await openShards()).toEqual(shards);
  });

  test('keeps the notes of its booked charges, because the balance without them is not written', async () => {
    const state = createMemoryState({ store: new MemoryStore(Date.now) });
    await openEpoch(state);
    const forgotten: number[] = [];
    const ledger = {
      ...ledgerOf(new Map(), async () => new Map([[0, new StateUnavailableError('away')]])),
      endedOf: async (ids: readonly string[]) => new Set(ids),
    };
    const readNotes = async () => ['booked'];
    const forget = async (at: number) => void forgotten.push(at);
    await expect(keeperOf({ ...state, readNotes, forget }, ledger, [0, 1]).maintain()).rejects.toThrow('away');
    expect(forgotten).toEqual([1]);
  });
});

describe('keys that no request may use', () => {
  const removed = (row: object, index: number) => (index % 2 === 0 ? row : { ...row, generation: 2, is_usable: false });
  const records = (store: MemoryStore) => store.shards.flatMap(({ contents }) => [...contents.keys.keys()]).sort();
  const usable = walletIds.flatMap((_, at) => (at % 2 === 0 ? [`key-${at}`] : [])).sort();

  test('are not written by a rebuild', async () => {
    const store = new MemoryStore(Date.now);
    const state = createMemoryState({ store });
    await openEpoch(state);
    await projectorTo(state, removed).project(new Set(shards));
    expect(records(store)).toEqual(usable);
  });

  test('and that an older replica brought back are removed by a rebuild, with preferences that no other key names', async () => {
    let now = Date.now();
    const store = new MemoryStore(() => now);
    const state = createMemoryState({ store });
    await openEpoch(state);
    await projectorTo(state).project(new Set(shards));
    expect(records(store)).toHaveLength(walletIds.length);
    await projectorTo(state, removed).project(new Set(shards));
    for (const at of walletIds.keys()) {
      expect((await state.lookupKey(`key-${at}`)) !== undefined, `key-${at}`).toBe(at % 2 === 0);
    }
    const preferences = store.shards.flatMap(({ contents }) => [...contents.workspaces.values()]);
    expect(preferences.filter((each) => each.preferences !== undefined)).toHaveLength(usable.length);
    // Remembered for a while, so that an older projection does not bring one back.
    await projectorTo(state).project(new Set(shards));
    expect(await state.lookupKey('key-1')).toBeUndefined();
    now += 600_000;
    await outcome(state.isOpen());
    for (const at of shards) await outcome(state.peek({ shard: at, right: { kind: 'key', keyHash: 'none' } }));
    expect(records(store)).toEqual(usable);
    expect(store.shards.flatMap(({ contents }) => [...contents.workspaces.keys()])).toHaveLength(usable.length);
  });
});

test('a key that is revoked while a rebuild writes it stays revoked', async () => {
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  await openEpoch(state);
  const revoking: State = {
    ...state,
    putKey: async (key) => {
      await state.removeKey({ ...key, generation: key.generation + 1, isNews: true });
      return state.putKey(key);
    },
  };
  await projectorTo(revoking).project(new Set(shards));
  for (const at of walletIds.keys()) expect(await state.lookupKey(`key-${at}`)).toBeUndefined();
});

test('preferences are written only where they are missing', async () => {
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  await openEpoch(state);
  let written = 0;
  const counting: State = {
    ...state,
    putWorkspace: (workspace) => {
      written += 1;
      return state.putWorkspace(workspace);
    },
  };
  await projectorTo(counting).project(new Set(shards));
  expect(written).toBe(walletIds.length);
  await projectorTo(counting).project(new Set(shards));
  await projectorTo(counting).refresh();
  expect(written).toBe(walletIds.length);
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
    ledgerOf(new Map(), async () => new Map()),
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
    ledger: {
      book: never,
      setAside: never,
      setAsideAfter: never,
      rebook: never,
      isRefusal: () => false,
      isHeldUp: () => false,
    },
    ...{ settlementMacKey: randomBytes(32), accountRefKey: randomBytes(32) },
    events: { shortfall: () => {}, used: () => {}, waived: () => {}, booked: () => {}, settlementRejected: () => {} },
  });
  expect(await settler.settleAll()).toEqual({ isAny: false, isMore: false });
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
      ledgerOf(new Map(), async () => new Map(), [client]),
      [shard],
    ).maintain();
    expect((await state.readMembers(shard)).isOpen).toBe(isOpen);
  },
);

test.each([
  ['broker.an-older-one', false],
  ['broker.quiet.one', true],
  [controlClient(), true],
])('tickets may be quiet while %s is a member: %s', async (client, isQuiet) => {
  const store = new MemoryStore(Date.now);
  const state = createMemoryState({ store, newClient: controlClient });
  const keeper = keeperOf(
    state,
    ledgerOf(new Map(), async () => new Map()),
    [shard],
  );
  // A process that has not looked yet knows of no broker.
  expect(keeper.areBrokersQuiet).toBe(false);
  await keeper.maintain();
  expect(keeper.areBrokersQuiet).toBe(true);
  const other = createMemoryState({ store, newClient: () => client });
  const join = () => other.join(shard, { declaration: undefined, leaseMs });
  await join().catch(join);
  await keeper.maintain();
  expect(keeper.areBrokersQuiet).toBe(isQuiet);
  await other.leave(shard);
  await keeper.maintain();
  expect(keeper.areBrokersQuiet).toBe(true);
});

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

test('the audit finds the lost spending of any month of a budget, also of one in which something is open', async () => {
  const current = monthOf(Date.now());
  const before = monthBefore(current);
  const account = { id: 'account', wallet_id: 'wallet', balance_nusd: '5', version: '1' };
  const budget = {
    ...{ id: 'budget', workspace_id: 'w', member_id: null, key_id: null, tag_id: null, limit_nusd: '9', version: '1' },
    ...{ account_id: 'account', wallet_id: 'wallet', months: { [before]: '2', [current]: '3' } },
  };
  const query = async (sql: string) => ({
    rows: /from budgets/.test(sql) ? [budget] : /from api_keys/.test(sql) ? [] : [account],
  });
  const findingsOf = async (months: AuditedBudget['months']) => {
    const funds = { fundsNusd: 5n, version: 1, heldNusd: 0n, unbookedNusd: 0n, holdsNusd: 0n, notesNusd: 0n };
    const state = {
      isOpen: async () => true,
      readBooks: async (_: number, { budgetIds }: { readonly budgetIds: readonly string[] }) => ({
        wallets: new Map([['wallet', funds]]),
        keys: new Map(),
        budgets: new Map(budgetIds.map((id) => [id, { limitNusd: 9n, version: 1, months }])),
      }),
    };
    const page = await auditPage({ pool: { query } as unknown as pg.Pool, state, sleep: async () => {} });
    return page.findings.map(({ what, expected, found }) => [what, expected, found]);
  };
  const spent = (spentNusd: bigint) => ({ spentNusd, openNusd: 1n, countedNusd: 1n });
  const lost = (month: string, expected: string) => [`the spending of a budget differs in ${month}`, expected, '0'];
  const last = [current, spent(3n)] as const;
  expect(await findingsOf(new Map([[before, spent(2n)], last]))).toEqual([]);
  expect(await findingsOf(new Map([[before, spent(0n)], last]))).toEqual([lost(before, '2')]);
  expect(await findingsOf(new Map([last]))).toEqual([lost(before, '2')]);
  expect(await findingsOf(new Map([[before, spent(2n)]]))).toEqual([lost(current, '3')]);
});
