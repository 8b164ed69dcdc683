import { type Mutant, mutantsAt } from '../mutant.ts';

/** Each rule of who pays a charge, and each bound of what is taken. */
export const moneyMutants: readonly Mutant[] = mutantsAt(
  {
    folder: 'who-pays',
    file: 'apps/control/src/ledger/draw-charge.ts',
    tests: ['apps/control/src/ledger/draw-charge.test.ts'],
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
    ['at most what is left', 'least(missing(), leftOf(grant), balance', 'least(missing(), balance'],
    ['at most what has expired', 'least(missing(), grant.expiredNusd)', 'missing()'],
    ['at most the charge', 'least(missing(), leftOf(grant)', 'least(leftOf(grant)'],
    [
      'what expired and was restored is spent',
      'expiredNusd: grant.expiredNusd - nusd }',
      'expiredNusd: grant.expiredNusd }',
    ],
    ['shortfall', 'shortfallNusd: missing()', 'shortfallNusd: 0n'],
  ],
);
