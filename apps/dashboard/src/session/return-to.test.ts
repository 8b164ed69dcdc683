import fc from 'fast-check';
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
    '/.//evil.example',
    '/a/..//evil.example',
    '/.\\/evil.example',
    '/%2e//evil.example',
  ])('never elsewhere: %j', (asked) => {
    expect(safeReturnTo(asked)).toBe('/');
  });

  it('never elsewhere, whatever was asked, and asking for the result again changes nothing', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2e',
      '%2f',
      ':',
      '@',
      '?',
      '#',
      '\t',
      '\n',
      ' ',
      'evil.example',
      'a',
      'https:',
    );
    const asked = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
      fc.string(),
    );
    fc.assert(
      fc.property(asked, (text) => {
        const path = safeReturnTo(text);
        for (const origin of ['https://control.example', 'http://127.0.0.1:4000'])
          expect(new URL(path, origin).origin).toBe(origin);
        expect(safeReturnTo(path)).toBe(path);
      }),
      { numRuns: 500 },
    );
  });
});
