import { expect, it } from 'vitest';
import { mostViews, noteOn, readViews, withView } from './view-store.ts';

const view = (name: string) => ({ name, search: { range: '7d' } as const });

it('keeps what it wrote, with the workspace, and leaves out what is no view', () => {
  const workspace = '0b5e2f9a-31b4-4b53-9b57-7b0cf0c3a001';
  const [kept] = readViews(JSON.stringify([{ name: 'a', search: { range: '7d', workspace, by: 'mood' } }]));
  expect(kept).toMatchObject({ name: 'a', search: { range: '7d', workspace, by: undefined } });
  expect(readViews('[null, 1, {"name":1}, {"name":"b"}, {"name":"c","search":null}]')).toEqual([]);
  for (const stored of [null, '', '{', '{}', 'null', '7']) expect(readViews(stored), `${stored}`).toEqual([]);
});

it('replaces a view by the same name, and says so before; says that there are too many', () => {
  expect(withView([view('a'), view('b')], view('b')).map(({ name }) => name)).toEqual(['b', 'a']);
  const full = Array.from({ length: mostViews }, (_, at) => view(`${at}`));
  expect(noteOn(full, '3')).toEqual({ text: 'Replaces the view “3”.', isFull: false });
  expect(noteOn(full, 'new').isFull).toBe(true);
  expect(noteOn(full.slice(1), 'new')).toEqual({ isFull: false });
});
