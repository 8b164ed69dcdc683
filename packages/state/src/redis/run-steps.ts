import type { Caller } from '../membership/membership.ts';
import { type Argument, type StepName, type Steps, shardOf } from '../steps/step.ts';
import type { Run } from '../steps/stepped-state.ts';
import { steps } from '../steps/steps.ts';
import type { ScriptRunner } from './script-runner.ts';
import { ShardBatch } from './shard-batch.ts';
import { StepBatch } from './step-batch.ts';

type Send = (shard: number, values: readonly Argument[], caller: Caller) => Promise<unknown>;

/** Executes steps by their scripts. `now` is empty outside tests, because the scripts use Redis' own clock. */
export function runOnRedis(runner: ScriptRunner, now: () => string): Run {
  const senderOf = (name: StepName): Send => {
    const { kind, together } = steps[name];
    if (together === undefined) {
      if (kind === 'none') return (shard, values) => runner.onShard(name, shard, values);
      return (shard, values, caller) => runner.step(name, shard, caller, values);
    }
    const common = (): Argument => together.common(now());
    if (kind === 'none') {
      const batch = new ShardBatch(runner, name, { common, most: together.most ?? 1 });
      return (shard, values) => batch.ask(shard, values);
    }
    const batch = new StepBatch(runner, name, common);
    return (shard, values, caller) => batch.step(shard, caller, values);
  };
  const senders = new Map<StepName, Send>(
    Object.keys(steps).map((name) => [name as StepName, senderOf(name as StepName)]),
  );
  return async (name, asked) => {
    const { args, reply }: Steps[typeof name] = steps[name];
    const shard = shardOf(asked);
    const caller = runner.membership.caller(shard);
    const send = senders.get(name);
    if (send === undefined) throw new Error(`no step ${name}`);
    const answer = await send(shard, args(asked, { client: caller.client, now: now() }), caller);
    return reply(Array.isArray(answer) ? answer : [answer], asked, caller);
  };
}
