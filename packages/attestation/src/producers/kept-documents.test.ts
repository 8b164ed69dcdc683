import { expect, it, vi } from 'vitest';
import { KeptDocuments } from './kept-documents.ts';

/** `vi.waitFor` gives up after one second by default, which may be too short on a busy machine. */
const hangMs = 30_000;

const dayMs = 86_400_000;

function world(lifeMs = 30 * dayMs) {
  let now = 0;
  let loads = 0;
  let state: 'fine' | 'down' | 'slow' | 'old' = 'fine';
  let newest = 0;
  const release: (() => void)[] = [];
  const told: string[] = [];
  const kept = new KeptDocuments<string>({
    now: () => now,
    patienceMs: 5,
    onExpiring: (key, until) => told.push(`${key} ${(until - now) / dayMs}`),
    load: async (key) => {
      loads += 1;
      const document = `${key} ${loads}`;
      if (state === 'down') throw new Error('down');
      if (state === 'slow') await new Promise<void>((resolve) => release.push(resolve));
      if (state !== 'old') newest = now + lifeMs;
      return { document, until: newest };
    },
  });
  return {
    kept,
    told,
    loads: () => loads,
    pass: (days: number) => {
      now += days * dayMs;
    },
    become: (next: typeof state) => {
      state = next;
    },
    release: () => {
      for (const go of release) go();
    },
  };
}

it('loads once for concurrent requests, and keeps the answer', async () => {
  const { kept, loads } = world();
  expect(await Promise.all([kept.get('a'), kept.get('a'), kept.get('a')])).toEqual(['a 1', 'a 1', 'a 1']);
  expect(await kept.get('a')).toBe('a 1');
  expect(loads()).toBe(1);
});

it('renews after half of the lifetime, without delaying requests', async () => {
  const { kept, loads, pass } = world();
  await kept.get('a');
  pass(14);
  await kept.refresh();
  expect(loads()).toBe(1);
  pass(1.1);
  expect(await kept.get('a')).toBe('a 1');
  await kept.refresh();
  expect(await kept.get('a')).toBe('a 2');
});

it('serves a valid document when renewing fails, warns daily in its last week, then returns nothing', async () => {
  const { kept, told, pass, become } = world();
  await kept.get('a');
  become('down');
  pass(20);
  await kept.refresh();
  expect(await kept.get('a')).toBe('a 1');
  expect(told).toEqual([]);
  pass(4);
  await kept.refresh();
  pass(0.5);
  await kept.refresh();
  expect(told).toEqual(['a 6']);
  pass(1);
  await kept.refresh();
  expect(told).toEqual(['a 6', 'a 4.5']);
  pass(5);
  expect(await kept.get('a')).toBeUndefined();
  become('fine');
  pass(0.01);
  expect(await kept.get('a')).toMatch(/^a /);
});

it('warns of a document that is only read', async () => {
  const { kept, told, pass, become } = world();
  await kept.get('a');
  become('down');
  pass(24);
  expect(await kept.get('a')).toBe('a 1');
  await vi.waitFor(() => expect(told).toEqual(['a 6']), hangMs);
});

it('asks a vendor that has nothing newer every hour, and more often towards the end, of which it warns', async () => {
  const { kept, told, loads, pass, become } = world();
  await kept.get('a');
  become('old');
  pass(16);
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    await kept.refresh();
    pass(1 / 1440);
  }
  expect(loads()).toBe(1 + 24);
  pass(11.5);
  await kept.refresh();
  expect(told).toEqual([]);
  pass(1);
  await kept.refresh();
  expect(told).toEqual(['a 0.5']);
  pass(0.5 - 1 / 24);
  await kept.refresh();
  const before = loads();
  become('fine');
  pass(8 / 1440);
  await kept.refresh();
  expect(loads()).toBe(before + 1);
  expect(await kept.get('a')).toBe(`a ${before + 1}`);
});

it('does not warn of a document that lasts less than a week and is renewed', async () => {
  const { kept, told, pass } = world(6 * dayMs);
  await kept.get('a');
  for (let half = 0; half < 40; half += 1) {
    pass(0.5);
    await kept.refresh();
  }
  expect(told).toEqual([]);
});

it('does not wait beyond its patience, and uses a document that arrives later', async () => {
  const { kept, become, release, loads } = world();
  become('slow');
  expect(await kept.get('a')).toBeUndefined();
  expect(await kept.get('a')).toBeUndefined();
  expect(loads()).toBe(1);
  release();
  await kept.refresh();
  await vi.waitFor(async () => expect(await kept.get('a')).toBe('a 1'), hangMs);
});

it('does not retry immediately after a failure', async () => {
  const { kept, become, loads, pass } = world();
  become('down');
  for (let tries = 0; tries < 5; tries += 1) expect(await kept.get('a')).toBeUndefined();
  expect(loads()).toBe(1);
  pass(1);
  await kept.get('a');
  expect(loads()).toBe(2);
});

it('keeps at most `maxKeys` keys', async () => {
  const { kept, loads } = world();
  for (let key = 0; key < 100; key += 1) await kept.get(String(key));
  expect(loads()).toBe(8);
});

it('replaces a key without a document, but not before its retry time', async () => {
  const { kept, loads, become, pass } = world();
  become('down');
  for (let key = 0; key < 20; key += 1) await kept.get(String(key));
  expect(loads()).toBe(8);
  become('fine');
  expect(await kept.get('new')).toBeUndefined();
  pass(0.01);
  expect(await kept.get('new')).toBe('new 9');
});

it('never keeps an expired document', async () => {
  const { kept } = world(0);
  expect(await kept.get('a')).toBeUndefined();
});
