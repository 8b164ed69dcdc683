import { expect, it } from 'vitest';
import { causeOf } from './sql-states.ts';

it.each([
  [{ code: '53100' }, '53100 disk_full'],
  [{ cause: Object.assign(new Error('inner'), { code: '28P01' }) }, '28P01 invalid_password'],
  [{ code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  [{ code: '99Z99' }, '99Z99'],
  [{ code: 'a secret of somebody' }, undefined],
  [{}, undefined],
])('names the cause of an error with %j', (fields, cause) => {
  expect(causeOf(Object.assign(new Error('a row'), fields))).toBe(cause);
});
