import { readFileSync } from 'node:fs';
import { type Mutant, mutantsOfRows } from '../mutant.ts';

const file = 'packages/wire/src/errors.ts';
const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const place = { file, tests: ['packages/wire/src/errors.test.ts'] as const };

/** Each row of the error table: its status, and whether it says that a retry may help. */
export const wireMutants: readonly Mutant[] = [
  ...mutantsOfRows(
    { ...place, folder: 'error-status' },
    {
      text,
      pattern: /^ {2}(\w+): row\(\s*(\d{3}),/gm,
      change: ([row = '', name = '', status]) => [name, row.replace(`${status},`, '418,')],
    },
  ),
  ...mutantsOfRows(
    { ...place, folder: 'error-retry' },
    {
      text,
      pattern: /^ {2}(\w+): row\((\d{3}), '[^']*', true\)/gm,
      change: ([row = '', name = '']) => [name, row.replace(', true)', ')')],
    },
  ),
];
