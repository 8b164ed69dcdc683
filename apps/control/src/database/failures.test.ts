import { describe, expect, it } from 'vitest';
import { isDatabaseUnavailable } from './failures.ts';

const failure = (code: string): Error => Object.assign(new Error('no'), { code });

describe('isDatabaseUnavailable', () => {
  it.each([
    ['a connection that broke', '08006'],
    ['a deadlock', '40P01'],
    ['no connection left', '53300'],
    ['no disk left', '53100'],
    ['a statement that took too long', '57014'],
    ['a server that shuts down', '57P01'],
    ['a disk that fails', '58030'],
    ['a standby that is not promoted yet', '25006'],
    ['a socket that is refused', 'ECONNREFUSED'],
    ['a name that does not resolve for now', 'EAI_AGAIN'],
    ['a network that is not there', 'ENETUNREACH'],
  ])('%s', (_, code) => {
    expect(isDatabaseUnavailable(failure(code))).toBe(true);
    expect(isDatabaseUnavailable(new Error('wrapped', { cause: failure(code) }))).toBe(true);
  });

  it.each([
    ['a row that is there already', '23505'],
    ['a text that is no number', '22P02'],
    ['a column that is not there', '42703'],
  ])('not %s', (_, code) => {
    expect(isDatabaseUnavailable(failure(code))).toBe(false);
  });
});
