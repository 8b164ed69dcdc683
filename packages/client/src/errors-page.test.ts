import { readFileSync } from 'node:fs';
import { errorTable } from '@sotto/wire';
import { expect, it } from 'vitest';
import { clientErrors } from './errors.ts';

const page = readFileSync(new URL('../../../docs/start/troubleshooting.md', import.meta.url), 'utf8');

/** The first cells of all rows: types and codes. */
const listed = new Set(
  page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name)),
);

it('docs/start/troubleshooting.md lists every error type and client code, and no other', () => {
  expect([...listed].sort()).toEqual([...Object.keys(errorTable), ...Object.keys(clientErrors)].sort());
});
