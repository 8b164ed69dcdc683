import type { RegistryPublic } from '@sotto/router';
import { repeat, type Task, type Tracing } from '@sotto/server';
import { type BrokerState, type HoldBook, type LeaseKeeper, shardCount } from '@sotto/state';
import type { BrokerEvents } from './events.ts';
import type { MeasurementLog } from './planning/measurement-log.ts';
import type { SharedView } from './planning/shared-view.ts';

/** The parts of a broker that need work while it runs. */
export interface Kept {
  readonly state: BrokerState;
  readonly view: SharedView;
  readonly measurements: MeasurementLog;
  readonly tracing: Tracing | undefined;
  readonly sendMetrics: (() => Promise<void>) | undefined;
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
  /** Follows soon: publishes a registry that is new, and binds the catalog to it. */
  wake(): void;
  /** Resolves when all tasks have ended. */
  stop(): Promise<void>;
}

/** The interval for what nothing announced, because a message was lost or the state lost what it had. */
const unaskedMs = 5_000;
/** Announcements of this time are read together. */
const gatherMs = 250;
/** The pause after a failure. */
const pauseMs = 500;
const measureMs = 5_000;
const traceMs = 2_000;
const metricsMs = 15_000;
const resendMs = 1_000;
/** One shard after the other, so each is reconciled about once a minute. */
const reconcileMs = 4_000;
const leaseMs = 1_000;
/** While a shard is not open, or this broker has not joined it, check it this often. */
const unsettledMs = 50;

/** Returns the tasks that follow the shared state and keep it informed. */
export function keepUp(kept: Kept): Upkeep {
  const { measurements, tracing, sendMetrics, holds } = kept;
  const following = followState(kept);
  const follow = repeat(unaskedMs, following.follow, undefined, { gatherMs, pauseMs });
  const published = kept.state.watchPublished(follow.wake);
  const tasks: readonly Task[] = [
    follow,
    { start: published.start, stop: async () => published.stop() },
    repeat(measureMs, () => measurements.exchange()),
    ...(tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush())]),
    ...(sendMetrics === undefined ? [] : [repeat(metricsMs, sendMetrics)]),
    repeat(resendMs, () => holds.resend()),
    repeat(reconcileMs, reconcileInTurn(kept)),
    repeat(leaseMs, renewLeases(kept, follow.wake)),
  ];
  return {
    get isPublished() {
      return following.isPublished;
    },
    async start() {
      await following.follow().catch(() => {});
      for (const task of tasks) task.start();
    },
    wake: follow.wake,
    async stop() {
      for (const task of tasks) await task.stop();
    },
  };
}

function followState({ state, view }: Kept) {
  let published: RegistryPublic | undefined;
  return {
    get isPublished() {
      return published !== undefined;
    },
    async follow(): Promise<void> {
      // Publish again if the state lost everything: control needs the registry before it can project.
      const { registry } = view;
      if (published !== registry || (await state.readRegistry()) === undefined) await state.publishRegistry(registry);
      published = registry;
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

/** A state that lost this broker's leases may have lost the registry, too: then `onLost` is called. */
function renewLeases({ leases }: Kept, onLost: () => void): () => Promise<boolean> {
  return async () => {
    const wasSettled = leases.isSettled;
    await leases.renew();
    if (leases.isSettled) return false;
    if (wasSettled) onLost();
    await new Promise((resolve) => setTimeout(resolve, unsettledMs));
    return !leases.isSettled;
  };
}
