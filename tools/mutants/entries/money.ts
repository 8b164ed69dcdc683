import { type Mutant, mutantsAt } from '../mutant.ts';

/** Each rule of who pays a charge, and each bound of what is taken. */
const whoPays: readonly Mutant[] = mutantsAt(
  {
    folder: 'who-pays',
    file: 'packages/money/src/draw-charge.ts',
    tests: ['packages/money/src/draw-charge.test.ts'],
  },
  [
    ['own grant first', '  own.forEach(spend);\n', ''],
    ['expired part of the own grant', '  own.forEach(restore);\n', ''],
    [
      'own grant before its expired part',
      'own.forEach(spend);\n  own.forEach(restore);',
      'own.forEach(restore);\n  own.forEach(spend);',
    ],
    ['money of no grant', 'if (boughtNusd > 0n) paidNusd += least(missing(), boughtNusd);', ''],
    [
      'money of no grant alone',
      'const boughtNusd = balanceNusd - paidNusd - granted;',
      'const boughtNusd = balanceNusd - paidNusd;',
    ],
    ['never less than none', 'if (boughtNusd > 0n) paidNusd', 'paidNusd'],
    ['other grants', '  others.forEach(spend);\n', ''],
    ['other grants, oldest first', 'others.forEach(spend)', 'others.toReversed().forEach(spend)'],
    ['expired part of other grants', '  others.toReversed().forEach(restore);\n', ''],
    ['expired part, newest first', 'others.toReversed().forEach(restore)', 'others.forEach(restore)'],
    [
      'month of the hold',
      'const own = grants.filter((grant) => grant.month === month);',
      'const own = grants.slice(-1);',
    ],
    ['at most the balance', ', balanceNusd - paidNusd);', ');'],
    ['at most what is left', 'least(missing(), leftOfGrant(grant), balance', 'least(missing(), balance'],
    ['at most what has expired', 'least(missing(), grant.expiredNusd)', 'missing()'],
    ['at most the charge', 'least(missing(), leftOfGrant(grant)', 'least(leftOfGrant(grant)'],
    [
      'what expired and was restored is spent',
      'expiredNusd: grant.expiredNusd - nusd }',
      'expiredNusd: grant.expiredNusd }',
    ],
    ['shortfall', 'shortfallNusd: missing()', 'shortfallNusd: 0n'],
  ],
);

const damagedBudgets = 'test/money/state/redis-faults/damaged-budgets.test.ts';
const inScript = (name: string, tests: Mutant['tests']) => ({
  folder: 'budgets',
  file: `packages/state/src/redis/scripts/${name}.lua`,
  tests,
});
/** What keeps the open sum of a budget equal to its holds and notes, and when an answer may leave. */
const budgets: readonly Mutant[] = [
  ...mutantsAt(inScript('put-budget', [damagedBudgets]), [
    ['a lost limit', 'known < version or is_lost', 'known < version'],
    ['a removed one', 'known == version and not b[2]', 'known == version'],
    ['months', '[month] = (open[month] or 0) + tonumber(amount)', '[month] = tonumber(amount)'],
  ]),
  ...mutantsAt(inScript('settle', ['test/money/state/contract.test.ts']), [
    ['hold to note', '(is_noted and tonumber(charge) or 0)', '0'],
  ]),
  ...mutantsAt(inScript('parts/notes', [damagedBudgets]), [['each note once', '        seen[id] = true\n', '']]),
  ...mutantsAt(inScript('parts/names', [damagedBudgets]), [
    ['a failed part', '  if raised then error({err = raised}) end\n', ''],
  ]),
  ...mutantsAt(inScript('begin-epoch', [damagedBudgets]), [['nothing is open', "== 'open '", "== 'none '"]]),
  ...mutantsAt(
    {
      folder: 'budgets',
      file: 'packages/state/src/membership/hold-book.ts',
      tests: ['packages/state/src/membership/hold-book.test.ts'],
    },
    [['not sent', '.catch(() => accepted)', '.catch(() => {})']],
  ),
];

const ofTags = 'apps/control/src/ledger/tag-budgets.integration.test.ts';
const inControl = (file: string, tests: Mutant['tests'] = [ofTags]) => ({
  ...{ folder: 'tags', tests },
  file: `apps/control/src/${file}`,
});
/** A charge counts for the tag that its key had when the request was admitted, and no other. */
const tags: readonly Mutant[] = [
  ...mutantsAt(inControl('ledger/budget-months.ts'), [
    [
      'one row of a key',
      'sum(t.nusd) from unnest($1::uuid[], $2::text[], $3::bigint[]) as t (key_id, month, nusd)\n',
      'max(t.nusd) from unnest($1::uuid[], $2::text[], $3::bigint[]) as t (key_id, month, nusd)\n',
    ],
    ['each tag apart', '${each.month} ${each.tagId}', '${each.month}'],
    ['budgets of the tag', ' and (b.tag_id is null or b.tag_id = t.tag_id)', ''],
    ['other budgets count no tag', 'where b.tag_id is null and k.workspace_id', 'where k.workspace_id'],
    ['named by the key', '...(tagId === undefined ? [] : [stateIdOf({ ...of, tag_id: tagId })]),', ''],
  ]),
  ...mutantsAt(inControl('shards/epoch-ledger.ts'), [
    ['rebuilt', 'budgetIdsOf(row, ref.tagId)', 'budgetIdsOf(row, undefined)'],
  ]),
  ...mutantsAt(inControl('keys/key-store.ts'), [
    ['tickets of before', 'case when ${retagged} then 1 else $4 end', '$4'],
    ['tickets of the same tag', "'($6 and tag is distinct from $7)'", "'$6'"],
  ]),
  ...mutantsAt(inControl('ledger/budget-alerts.ts', ['apps/control/src/usage/refusals.integration.test.ts']), [
    ['refused by the tag of before', ' and coalesce(k.untagged_at <= $4, true)', ''],
    ['refused by a tag', 'b.tag = k.tag', 'b.tag is not null'],
  ]),
];

/** How charges are gathered into a booking, and what a shard is told of it. */
const booking: readonly Mutant[] = [
  ...mutantsAt(
    {
      folder: 'booking',
      file: 'apps/control/src/settler/settler.ts',
      tests: ['apps/control/src/settler/settler.test.ts'],
    },
    [
      ['own wallets', '.filter(({ accountId }) => accounts.has(accountId))', ''],
      ['own holds', 'holdIds.filter((id) => ids.has(id))', '[...holdIds]'],
      ['what came before it began', 'this.#waiting.delete(shard);', ''],
      ['a held-up account', 'if (!this.#deps.ledger.isHeldUp(error)) throw error;', 'throw error;'],
      ['apart for a while', 'if (performance.now() < this.#apartUntil) return this.#ownBookings.add(verified);', ''],
      ['callers share a batch', 'if (waiting !== undefined) return waiting;', ''],
      ['reads again', 'if (isAny && !isAlone) settling.wake();', ''],
      ['is told', '[settling, settler.watch(settling.wake), rebooking]', '[settling, rebooking]'],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'booking',
      file: 'apps/control/src/settler/group-run.ts',
      tests: ['apps/control/src/settler/group-run.test.ts'],
    },
    [
      ['one at a time', 'this.#last = done.catch(() => {});', ''],
      ['a full group', 'this.#next.items.length < this.#most', 'true'],
      ['a run that began', 'if (this.#next === group) this.#next = undefined;', ''],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'booking',
      file: 'packages/state/src/redis/scripts/settle.lua',
      tests: ['test/money/state/contract.test.ts'],
    },
    [['announces the first', "redis.pcall('XLEN', stream) == 1", 'false']],
  ),
  ...mutantsAt(
    {
      folder: 'booking',
      file: 'apps/control/src/database/in-transaction.ts',
      tests: ['apps/control/src/ledger/ledger.integration.test.ts'],
    },
    [
      [
        'the first error',
        'errors.find((error) => !hasSqlState(error, abortedTransaction)) ?? errors[0]',
        'errors.at(-1)',
      ],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'booking',
      file: 'apps/control/src/database/in-transaction.ts',
      tests: ['apps/control/src/wallets/deposit.integration.test.ts'],
    },
    [['a refusal rolls back', 'result instanceof Refused', 'false']],
  ),
];

export const moneyMutants: readonly Mutant[] = [...whoPays, ...budgets, ...tags, ...booking];
