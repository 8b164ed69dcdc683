import type { EpochPort, MembershipPort, RestoredAmount } from '../ports/index.ts';
import { shardPrefix, shards } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { ScriptRunner } from './script-runner.ts';

/** `now` is empty outside tests, because the scripts use Redis' own clock, and only this clock decides about leases. */
export function redisEpochs(runner: ScriptRunner, now: () => string): MembershipPort & EpochPort {
  const { membership } = runner;
  return {
    membership,

    async join(shard, { declaration, leaseMs }) {
      const caller = membership.caller(shard);
      const [result, open, leaseUntil] = await runner.step('join', shard, [
        now(),
        leaseMs,
        ...(declaration === 'renewal' ? ['-', ''] : [declaration?.payload ?? '', declaration?.mac ?? '']),
      ]);
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
      const prefix = shardPrefix(shard);
      const [[epoch, open], fields, declared] = await runner.plain((redis) =>
        Promise.all([
          redis.hmget(`${prefix}epoch`, 'id', 'open'),
          redis.hkeys(`${prefix}clients`),
          redis.hgetall(`${prefix}declared`),
        ]),
      );
      return {
        epoch: epoch == null ? undefined : Number(epoch),
        isOpen: open === '1',
        clients: clientsWith(fields, 'n'),
        gone: clientsWith(fields, 'lapsed'),
        declared: Object.entries(declared).map(([client, text]) => {
          const at = text.indexOf(' ');
          return { client, mac: text.slice(0, at), payload: text.slice(at + 1) };
        }),
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
      return Number(await runner.onShard('reap', shard, [now(), graceMs]));
    },
  };
}

/** Returns the clients with a fact. Fields are `client fact`. */
const clientsWith = (fields: readonly string[], fact: string): string[] =>
  fields.filter((field) => field.endsWith(` ${fact}`)).map((field) => field.slice(0, -fact.length - 1));

const argumentsOf = ({ holdId, walletId, keyHash, amountNusd, month, budgetIds }: RestoredAmount): string[] => [
  holdId,
  walletId,
  keyHash,
  amountNusd.toString(),
  month ?? '',
  budgetIds.join(' '),
];
