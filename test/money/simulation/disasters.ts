import { emptyShard, type Settlement, type ShardData } from '@sotto/state';
import { startBroker } from './brokers.ts';
import { startControl } from './controls.ts';
import { type Ground, shard } from './ground.ts';

export function fault(ground: Ground): void {
  const random = ground.random;
  const { crash, failOver, wipe, leap } = ground.faults;
  if (random.chance(crash)) crashBroker(ground, random.below(ground.brokers.length));
  for (const [at, control] of ground.controls.entries()) {
    if (!random.chance(crash)) continue;
    ground.note('control crashed');
    control.process.isAlive = false;
    ground.controls[at] = startControl(ground);
  }
  const replica = random.pick(ground.replicas);
  if (random.chance(failOver) && replica !== undefined) {
    ground.note('failed over');
    lose(ground, replica);
  }
  if (random.chance(wipe)) {
    ground.note('wiped');
    lose(ground, emptyShard());
  }
  if (random.chance(leap)) {
    ground.note('leapt');
    ground.now += random.below(40_000);
  }
}

function lose(ground: Ground, replica: ShardData): void {
  const streamed = new Set(replica.stream.map(({ payload }) => payload));
  for (const { payload } of ground.shard.contents.stream) {
    const { id } = JSON.parse(payload) as Settlement;
    const request = ground.requests.get(id);
    if (request !== undefined && !streamed.has(payload)) request.isLost = true;
  }
  // Control does not wait for a broker that joined too recently to be recorded. That broker is admitted later,
  // automatically.
  for (const request of ground.open) {
    const { client } = request.broker.state.membership.caller(shard);
    if (!ground.ledger.clients.get(shard)?.has(client)) request.excused = true;
  }
  ground.network.cut();
  ground.shard.failOver(replica);
  ground.dirty = true;
  ground.losses += 1;
  // A replica that is newer than the restored one does not belong to its history.
  ground.replicas = ground.replicas.filter((each) => each === replica);
}

function crashBroker(ground: Ground, at: number): void {
  const broker = ground.brokers[at];
  if (broker === undefined) return;
  ground.note('broker crashed');
  broker.process.isAlive = false;
  for (const request of ground.open) if (request.broker === broker) ground.open.delete(request);
  ground.brokers[at] = startBroker(ground);
}
