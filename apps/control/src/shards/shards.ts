import { repeat } from '@sotto/server';
import { EpochKeeper, forAllReachable, type Keys, LeaseKeeper, leaseGraceMs, type State, shards } from '@sotto/state';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import { type EpochLedgerDependencies, postgresEpochLedger } from './epoch-ledger.ts';

export interface ShardsDependencies extends EpochLedgerDependencies {
  readonly state: State;
  readonly settlementMacKey: Keys;
  /** True if no other process can hold anything in the state: in one process with the broker. */
  readonly isAlone: boolean;
  readonly onOpened: () => void;
  readonly events: Pick<ControlEvents, 'epochsOpened' | 'undeclared' | 'declarationRefused' | 'reaped'>;
}

/** Keeps the shards of the shared state open, and releases holds of brokers that have died. */
export interface Shards extends Domain {
  readonly epochs: EpochKeeper;
  /** Releases this process’s lease. */
  leave(): Promise<void>;
}

const leaseMs = 1_000;
/** Who joins announces it, and renewing the leases finds an epoch that has ended. So this is for announcements that are lost. */
const unaskedMs = 5_000;
const epochPauseMs = 500;
/** The interval of checks while a shard is about to be opened. */
const unsettledMs = 50;
const reapMs = 4_000;

export function buildShards(deps: ShardsDependencies): Shards {
  const { state, events } = deps;
  const leases = new LeaseKeeper({ state, declare: () => undefined });
  const epochs = new EpochKeeper({
    state,
    ledger: postgresEpochLedger(deps),
    macKey: deps.settlementMacKey,
    now: () => performance.now(),
    isAlone: deps.isAlone,
    onOpened(opened) {
      events.epochsOpened({ shards: opened });
      deps.onOpened();
    },
    onUndeclared: (shard, clients) => events.undeclared({ shard, clients: clients.length }),
    onUnreadable: (shard, reason) => events.declarationRefused({ shard, reason }),
  });
  return {
    epochs,
    leave: () => leases.leave(),
    tasks(failed) {
      const maintaining = repeat(
        unaskedMs,
        async () => {
          await epochs.maintain();
          if (!epochs.isSettled) await new Promise((resolve) => setTimeout(resolve, unsettledMs));
          return !epochs.isSettled;
        },
        failed('epochs'),
        { pauseMs: epochPauseMs },
      );
      const members = state.watchMembers(maintaining.wake);
      return [
        repeat(
          leaseMs,
          async () => {
            await leases.renew();
            if (!leases.isSettled) maintaining.wake();
          },
          failed('leases'),
        ),
        maintaining,
        { start: members.start, stop: async () => members.stop() },
        repeat(
          reapMs,
          async () => {
            const failure = await forAllReachable(shards, async (shard) => {
              const holds = await state.reap(shard, leaseGraceMs);
              if (holds > 0) events.reaped({ shard, holds });
            });
            if (failure !== undefined) throw failure;
          },
          failed('reaper'),
        ),
      ];
    },
  };
}
