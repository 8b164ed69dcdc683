import type { RegistryPublic } from '@sotto/router';
import { repeat, type Tracing } from '@sotto/server';
import { type BrokerState, type HoldBook, type LeaseKeeper, shardCount } from '@sotto/state';
import type { BrokerEvents } from './events.ts';
import type { MeasurementLog } from './planning/measurement-log.ts';
import type { SharedView } from './planning/shared-view.ts';

/** The parts of a broker that need work while it runs. */
export interface Kept {
  readonly state: BrokerState;
  readonly registry: RegistryPublic;
  readonly view: SharedView;
  readonly measurements: MeasurementLog;
  readonly tracing: Tracing | undefined;
  readonly holds: HoldBook;
  readonly leases: LeaseKeeper;
  readonly events: Pick<BrokerEvents, 'strays'>;
}

/** The tasks of a running broker. */
export interface Upkeep {
  /** Whether control knows this broker's registry. */
  readonly isPublished: boolean;
  /** Publishes the registry and reads the catalog, then starts the tasks. */
  start(): Promise<void>;
  /** Resolves when all tasks have ended. */
  stop(): Promise<void>;
}

const refreshMs = 500;
const measureMs = 2_000;
const traceMs = 2_000;
const resendMs = 1_000;
/** One shard after the other, so each is reconciled about once a minute. */
const reconcileMs = 4_000;
const leaseMs = 1_000;
/** While a shard is not open, or this broker has not joined it, check it this often. */
const unsettledMs = 50;

/** Returns the tasks that follow the shared state and keep it informed. */
export function keepUp(kept: Kept): Upkeep {
  const { measurements, tracing, holds } = kept;
  const following = followState(kept);
  const tasks = [
    repeat(refreshMs, following.follow),
    repeat(measureMs, () => measurements.exchange()),
    ...(tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush())]),
    repeat(resendMs, () => holds.resend()),
    repeat(reconcileMs, reconcileInTurn(kept)),
    repeat(leaseMs, () => renewLeases(kept)),
  ];
  return {
    get isPublished() {
      return following.isPublished;
    },
    async start() {
      await following.follow().catch(() => {});
      for (const task of tasks) task.start();
    },
    async stop() {
      for (const task of tasks) await task.stop();
    },
  };
}

function followState({ state, registry, view }: Kept) {
  let isPublished = false;
  return {
    get isPublished() {
      return isPublished;
    },
    async follow(): Promise<void> {
      // Publish again if the state lost everything: control needs the registry before it can project.
      if (!isPublished || (await state.readRegistry()) === undefined) await state.publishRegistry(registry);
      isPublished = true;
      await view.refresh();
    },
  };
}

function reconcileInTurn({ holds, events }: Kept): () => Promise<void> {
  let reconciled = -1;
  return async () => {
    reconciled = (reconciled + 1) % shardCount;
    const strays = await holds.reconcile(reconciled);
    if (strays > 0) events.strays({ holds: strays });
  };
}

async function renewLeases({ leases }: Kept): Promise<boolean> {
  await leases.renew();
  if (!leases.isSettled) await new Promise((resolve) => setTimeout(resolve, unsettledMs));
  return !leases.isSettled;
}
