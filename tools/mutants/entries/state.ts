import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Mutant, mutantsAt, mutantsOfRows } from '../mutant.ts';

const scripts = 'packages/state/src/redis/scripts';
const root = new URL('../../../', import.meta.url);
const contract = 'test/money/state/contract.test.ts';
const oracle = 'test/money/state/oracle.test.ts';

/** Only Redis can break these. */
const ofRedis: Readonly<Record<string, Mutant['tests']>> = {
  'not ms': ['test/money/state/redis-faults/damaged-records.test.ts'],
};
/** Without this guard a script takes the long way to the same answer. */
const shortcuts: ReadonlySet<string> = new Set(['#ARGV == 2 + wallets + keys']);

/** Each guard of the Lua scripts that ends a step early: the condition is gone, so the step goes on. */
const guardsOf = (name: string): Mutant[] => {
  const file = `${scripts}/${name}`;
  const seen = new Map<string, number>();
  const guards = mutantsOfRows(
    { folder: `script-${basename(name, '.lua')}`, file, tests: [contract, oracle] },
    {
      text: readFileSync(new URL(file, root), 'utf8'),
      pattern: /^ *if (.+?) then return .+ end$/gm,
      change: ([row = '', condition = '']) => {
        const times = (seen.get(condition) ?? 0) + 1;
        seen.set(condition, times);
        return [`${condition} #${times}`, row.replace(`if ${condition} then`, 'if false then')];
      },
    },
  );
  const conditionOf = (mutant: Mutant): string => mutant.name.slice(mutant.name.indexOf('/') + 1).replace(/ #\d+$/, '');
  return guards
    .filter((mutant) => !shortcuts.has(conditionOf(mutant)))
    .map((mutant) => ({ ...mutant, tests: ofRedis[conditionOf(mutant)] ?? mutant.tests }));
};

/** Control is not told who joins. */
const announcements = mutantsAt({ folder: 'announcements', file: `${scripts}/join.lua`, tests: [contract] }, [
  ['joins', "', 0)\n    redis.pcall('PUBLISH', JOINED_CHANNEL, '')", "', 0)"],
  ['declares', "if is_new then redis.pcall('PUBLISH', JOINED_CHANNEL, '') end", ''],
]);

/** Counts of refusals: whose are counted, and how often. */
const refusals: readonly Mutant[] = [
  ...mutantsAt({ folder: 'refusals', file: `${scripts}/redeem.lua`, tests: [contract] }, [
    ['anonymous', "if k[15] == '1' then count_refusal", 'if true then count_refusal'],
    ['budget', "count_as(scope .. '_budget')", ''],
  ]),
  ...mutantsAt({ folder: 'refusals-of-mints', file: `${scripts}/mint.lua`, tests: [contract] }, [
    ['anonymous', "if k[6] == '1' and secret", 'if secret'],
    ['remembered', " and secret == '' then count", ' then count'],
  ]),
  ...mutantsAt({ folder: 'refusals-of-processes', file: `${scripts}/count-refusal.lua`, tests: [contract] }, [
    ['anonymous', " == '1' then count_refusal", ' then count_refusal'],
    ['ticket', "if ARGV[2] == 'ticket' then key = read_mark(key, e[1]) end", ''],
  ]),
  ...mutantsAt({ folder: 'refusals-in-hours', file: `${scripts}/parts/refusals.lua`, tests: [contract] }, [
    ['epoch', "epoch .. ' ' .. key", "'1 ' .. key"],
    ['full', "redis.pcall('HINCRBY'", "redis.call('HINCRBY'"],
  ]).map((mutant) =>
    mutant.name.endsWith('full')
      ? { ...mutant, tests: ['test/money/state/redis-faults/memory.test.ts'] as const }
      : mutant,
  ),
  ...mutantsAt(
    {
      folder: 'refusals-in-the-ledger',
      file: 'apps/control/src/usage/refusal-store.ts',
      tests: ['apps/control/src/usage/refusals.integration.test.ts'],
    },
    [['largest', '\n         where refusals.count < excluded.count', '']],
  ),
];

const guards: readonly Mutant[] = readdirSync(new URL(scripts, root), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((name) => name.endsWith('.lua'))
  .sort()
  .flatMap(guardsOf);

export const stateMutants: readonly Mutant[] = [...guards, ...announcements, ...refusals];
