import { HoldBook, LeaseKeeper } from '@sotto/state';
import { type Broker, type Ground, macKey, mostPending, shard, shards } from './ground.ts';
import type { Process } from './network.ts';

export function startBroker(ground: Ground): Broker {
  const process: Process = { name: 'broker', isAlive: true };
  const state = ground.stateOf(process);
  const book = new HoldBook({
    state,
    macKey,
    now: () => ground.now,
    mostPending,
    onDelayed: () => {},
  });
  const leases = new LeaseKeeper({
    state,
    declare: (at) => (ground.declares ? book.declarationOf(at) : undefined),
    shards,
  });
  return { process, state, book, leases, running: new Set(), reconciledAt: ground.now };
}

export function brokerTask(ground: Ground, broker: Broker | undefined, task: 'lease' | 'resend' | 'reconcile'): void {
  if (broker === undefined) return;
  if (task === 'reconcile' && ground.now - broker.reconciledAt < 60_000) return;
  if (task === 'reconcile') broker.reconciledAt = ground.now;
  const tasks = {
    lease: () => broker.leases.renew(),
    resend: () => broker.book.resend(),
    reconcile: () => broker.book.reconcile(shard),
  };
  ground.once(broker.running, task, tasks[task]);
}
