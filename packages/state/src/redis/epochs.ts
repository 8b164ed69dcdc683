import type { Declared, EpochPort, MembershipPort, RestoredAmount } from '../ports/index.ts';
import { shardPrefix, shards } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { listReply, type ScriptRunner } from './script-runner.ts';
import { ShardBatch } from './shard-batch.ts';
import { StepBatch } from './step-batch.ts';

/** A broker that died may have thousands of holds in each shard. */
const reapedAtOnce = 4;

/** `now` is empty outside tests, because the scripts use Redis' own clock, and only this clock decides about leases. */
export function redisEpochs(runner: ScriptRunner, now: () => string): MembershipPort & EpochPort {
  const { membership } = runner;
  const joins = new StepBatch(runner, 'join', now);
  const members = new ShardBatch(runner, 'readMembers', { common: () => '', most: shards.length });
  const reaps = new ShardBatch(runner, 'reap', { common: now, most: reapedAtOnce });
  return {
    membership,

    async join(shard, { declaration, leaseMs }) {
      const { answer, caller } = await joins.step(shard, [
        leaseMs,
        ...(declaration === 'renewal' ? ['-', ''] : [declaration?.payload ?? '', declaration?.mac ?? '']),
      ]);
      const [result, open, leaseUntil] = listReply(answer);
      const isOpen = open === 1;
      if (result === 'declared') return { result, isOpen };
      if (result !== 'joined') throw new StateUnavailableError('unexpected reply');
      membership.joined(shard, caller, Number(leaseUntil));
      return { result, isOpen, leaseUntil: Number(leaseUntil) };
    },

    async leave(shard) {
      await runner.step('leave', shard, [now()]);
    },

    async readMembers(shard) {
      const [epoch, open, clients, declared] = listReply(await members.ask(shard));
      const fields = listReply(clients).map(String);
      return {
        epoch: epoch == null ? undefined : Number(epoch),
        isOpen: open === '1',
        clients: clientsWith(fields, 'n'),
        gone: clientsWith(fields, 'lapsed'),
        declared: declaredIn(listReply(declared).map(String)),
      };
    },

    async beginEpoch(shard, epoch) {
      return (await runner.onShard('beginEpoch', shard, [epoch])) === 1;
    },

    async admitDeclared(shard, client, { leaseMs, holds, charges }) {
      const [done] = await runner.step('admitDeclared', shard, [
        client,
        now(),
        leaseMs,
        holds.length,
        ...holds.flatMap(argumentsOf),
        ...charges.flatMap((charge) => [...argumentsOf(charge), charge.entry.payload, charge.entry.mac]),
      ]);
      return done === 1;
    },

    async openEpoch(shard) {
      await runner.step('openEpoch', shard, []);
    },

    async discardEpoch(shard, epoch) {
      return (await runner.onShard('discardEpoch', shard, [epoch])) === 1;
    },

    async isOpen() {
      const found = await runner.plain((redis) =>
        Promise.all(shards.map((shard) => redis.hget(`${shardPrefix(shard)}epoch`, 'open'))),
      );
      return found.every((open) => open === '1');
    },

    async reap(shard, graceMs) {
      return Number(await reaps.ask(shard, [graceMs]));
    },
  };
}

/** Returns the clients with a fact. Fields are `client fact`. */
const clientsWith = (fields: readonly string[], fact: string): string[] =>
  fields.filter((field) => field.endsWith(` ${fact}`)).map((field) => field.slice(0, -fact.length - 1));

/** Reads a hash of declarations: each client, and `mac payload`. */
function declaredIn(hash: readonly string[]): Declared[] {
  const found: Declared[] = [];
  for (let i = 0; i + 1 < hash.length; i += 2) {
    const [client = '', text = ''] = hash.slice(i, i + 2);
    const at = text.indexOf(' ');
    found.push({ client, mac: text.slice(0, at), payload: text.slice(at + 1) });
  }
  return found;
}

const argumentsOf = ({ holdId, walletId, keyHash, amountNusd, month, budgetIds }: RestoredAmount): string[] => [
  holdId,
  walletId,
  keyHash,
  amountNusd.toString(),
  month,
  budgetIds.join(' '),
];
