import { Settler } from '@sotto/control';
import {
  type AccountRef,
  type AmountOwner,
  EpochKeeper,
  LeaseKeeper,
  leaseGraceMs,
  openAccountRef,
  type State,
} from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { type Control, type Ground, macKey, refKey, shard, shards } from './ground.ts';
import { fundsOf } from './ledger.ts';
import type { Process } from './network.ts';
import { endReservations, withdraw } from './withdrawals.ts';

export function startControl(ground: Ground): Control {
  const process: Process = { name: 'control', isAlive: true };
  const state = ground.stateOf(process);
  const database = ground.network.carrier(process, 'Postgres');
  const ledger = ground.ledger;
  const locked = ground.network.carrier(process, 'Postgres', () => ledger.isLocked(ground.now));
  const settler = new Settler({
    ledger: {
      book: (batch) => locked(() => ledger.book(batch)),
      setAside: async (_, { payload }) => {
        ledger.rejected.push(payload);
      },
      setAsideAfter: async () => [],
      rebook: async () => {},
      isRefusal: () => false,
      isHeldUp: () => false,
    },
    state,
    settlementMacKey: macKey,
    accountRefKey: refKey,
    events: { used: () => {}, shortfall: () => {}, waived: () => {}, booked: () => {}, settlementRejected: () => {} },
  });
  const epochs = new EpochKeeper({
    state,
    macKey,
    now: () => ground.now,
    isAlone: false,
    shards,
    onOpened: () => {
      ground.note('opened');
    },
    onUndeclared: (_, clients) => {
      ground.note('undeclared');
      for (const request of ground.open) {
        if (clients.includes(request.broker.state.membership.caller(shard).client)) request.excused = true;
      }
    },
    onUnreadable: (_, reason) => {
      throw new Error(`declaration: ${reason}`);
    },
    ledger: {
      epochOf: (at) => database(() => ledger.epochs.get(at) ?? 0),
      recordEpoch: (at, epoch) =>
        locked(() => {
          ledger.epochs.set(at, Math.max(epoch, ledger.epochs.get(at) ?? 0));
        }),
      noteClients: (clients) =>
        database(() => {
          for (const [at, names] of clients) ledger.clients.set(at, new Map(names.map((name) => [name, ground.now])));
        }),
      clientsSeen: (at, withinMs) =>
        database(() => {
          const seen = [...(ledger.clients.get(at) ?? [])];
          const last = Math.max(...seen.map(([, seenAt]) => seenAt));
          return seen.flatMap(([name, seenAt]) => (seenAt > last - withinMs ? [name] : []));
        }),
      openRef: (text) => openAccountRef(refKey, text),
      attribute: (refs) =>
        database(
          () =>
            new Map(
              refs.flatMap((ref): [AccountRef, AmountOwner][] => {
                const key = ledger.keyOf(ref);
                if (key === undefined) return [];
                const { walletId, budget } = key.account;
                return [[ref, { walletId, keyHash: key.keyHash, budgetIds: [budget.budgetId] }]];
              }),
            ),
        ),
      endedOf: (ids) => database(() => new Set(ids.filter((id) => ledger.booked.has(id)))),
      drain: (at) => settler.drain(at),
      project: async () => {
        await project(ground, state);
        return new Map();
      },
    },
  });
  return {
    process,
    state,
    settler,
    epochs,
    database,
    locked,
    leases: new LeaseKeeper({ state, declare: () => undefined, shards }),
    running: new Set(),
  };
}

async function project(ground: Ground, state: State): Promise<void> {
  const rows = {
    accounts: ground.ledger.accounts.map((row) => ({ ...row })),
    keys: ground.ledger.keys.map((row) => ({ ...row })),
    budgets: ground.ledger.accounts.flatMap(({ budget: { budgetId, limitNusd, version, spent } }) =>
      limitNusd === undefined
        ? []
        : [{ budgetId, limitNusd, version, spent: [...spent].map(([month, spentNusd]) => ({ month, spentNusd })) }],
    ),
  };
  await Promise.all(
    rows.accounts.map(({ walletId, balanceNusd, version }) =>
      state.putWallet({ shard, walletId, balanceNusd, version }),
    ),
  );
  await Promise.all(
    rows.keys.map(async (key) => {
      const { walletId } = key.account;
      const workspace = { workspaceId: walletId, version: 1 };
      const isLacking = await state.putKey({
        ...{ shard, keyHash: key.keyHash, walletId, generation: 1, workspace },
        record: { v: 1, kind: 'inference', openaiCompatible: true, accountRef: key.keyHash },
        ...{ limitFundsNusd: fundsOf(key), fundsVersion: key.version },
        ...{ limitRequests: 1_000_000, limitTokens: 1_000_000_000, budgetIds: [key.account.budget.budgetId] },
        countsRefusals: true,
      });
      if (isLacking) await state.putWorkspace({ shard, ...workspace, preferences: initialPreferences });
    }),
  );
  // After the keys, because a new budget finds what is held by the budgets that the keys named.
  await Promise.all(rows.budgets.map((budget) => state.putBudget({ ...budget, shard, keptSince: '2026-12' })));
}

export function controlTask(
  ground: Ground,
  at: number,
  task: 'settle' | 'epochs' | 'lease' | 'project' | 'reap' | 'withdraw' | 'endReservations',
): void {
  const control = ground.controls[at];
  if (control === undefined) return;
  const { state, settler, epochs, leases, running } = control;
  const tasks = {
    settle: () => settler.settleShard(shard),
    epochs: () => epochs.maintain(),
    lease: () => leases.renew(),
    project: () => project(ground, state),
    reap: () => state.reap(shard, leaseGraceMs),
    withdraw: () => withdraw(ground, control),
    endReservations: () => endReservations(ground, control),
  };
  ground.once(running, task, tasks[task]);
}
