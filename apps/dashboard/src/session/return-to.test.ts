import { describe, expect, it } from 'vitest';
import { safeReturnTo } from './return-to.ts';

describe('where signing in leads', () => {
  it.each(['/', '/keys', '/models?tier=tee#x', '/connect/consent?uid=a'])('to a path of this page: %s', (path) => {
    expect(safeReturnTo(path)).toBe(path);
  });

  it.each([
    undefined,
    7,
    '',
    'keys',
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/\n/evil.example',
  ])('never elsewhere: %j', (asked) => {
    expect(safeReturnTo(asked)).toBe('/');
  });
});
