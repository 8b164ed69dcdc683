import type { Declared, RestoredAmount } from '../ports/index.ts';
import { shardCount } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { listReply, nothing } from './read-reply.ts';
import type { Argument, Steps } from './step.ts';

/** A broker that died may have thousands of holds in each shard. */
const reapedAtOnce = 4;

/** The members by their leases, and the rebuild of a shard after a loss. */
export const epochSteps = {
  join: {
    kind: 'join',
    together: { common: (now) => now },
    args: ([, { declaration, leaseMs }]) =>
      declaration === 'renewal' ? [leaseMs, '-', ''] : [leaseMs, declaration?.payload, declaration?.mac],
    reply([result, open, leaseUntil]) {
      const isOpen = open === 1;
      if (result === 'declared') return { result, isOpen };
      if (result !== 'joined') throw new StateUnavailableError('unexpected reply');
      return { result, isOpen, leaseUntil: Number(leaseUntil) };
    },
  },
  leave: { kind: 'project', args: (_, { now }) => [now], reply: nothing },
  readMembers: {
    kind: 'none',
    together: { common: () => '', most: shardCount },
    args: () => [],
    reply([epoch, open, clients, declared]) {
      const fields = listReply(clients).map(String);
      return {
        epoch: epoch == null ? undefined : Number(epoch),
        isOpen: open === '1',
        clients: clientsWith(fields, 'n'),
        gone: clientsWith(fields, 'lapsed'),
        declared: declaredIn(listReply(declared).map(String)),
      };
    },
  },
  beginEpoch: { kind: 'none', args: ([, epoch]) => [epoch], reply: ([isNew]) => isNew === 1 },
  admitDeclared: {
    kind: 'project',
    args: ([, client, { leaseMs, holds, charges }], { now }) => [
      ...[client, now, leaseMs, holds.length],
      ...holds.flatMap(argumentsOf),
      ...charges.flatMap((charge) => [...argumentsOf(charge), charge.entry.payload, charge.entry.mac]),
    ],
    reply: ([isNew]) => isNew === 1,
  },
  openEpoch: { kind: 'project', args: () => [], reply: nothing },
  discardEpoch: { kind: 'none', args: ([, epoch]) => [epoch], reply: ([isEnded]) => isEnded === 1 },
  reap: {
    kind: 'none',
    together: { common: (now) => now, most: reapedAtOnce },
    args: ([, graceMs]) => [graceMs],
    reply: ([released]) => Number(released),
  },
} satisfies Partial<Steps>;

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

const argumentsOf = ({ holdId, walletId, keyHash, amountNusd, month, budgetIds }: RestoredAmount): Argument[] => [
  holdId,
  walletId,
  keyHash,
  amountNusd,
  month,
  budgetIds.join(' '),
];
