import { expect, it } from 'vitest';
import { readCursor } from './page-cursor.ts';

const id = '00000000-0000-4000-8000-000000000000';
const cursorAt = (at: string): string => Buffer.from(`${at} ${id}`).toString('base64url');

it('reads a cursor of a page', () => {
  expect(readCursor(cursorAt('2026-11-28T12:00:00.000Z'))).toEqual({ at: new Date('2026-11-28T12:00:00.000Z'), id });
});

it.each(['-271821-04-20T00:00:00.000Z', '+275760-09-13T00:00:00.000Z', '2026-11-28', 'x'])(
  'refuses a cursor at %s, which no page has',
  (at) => expect(() => readCursor(cursorAt(at))).toThrow('`cursor` must be the `next_cursor` of an earlier page.'),
);
