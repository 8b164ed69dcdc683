import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import * as front from './index.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const shipped = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('testing'))
  .map((name) => ({ name, text: readFileSync(`${folder}${name}`, 'utf8') }));
// Producers run where the evidence is made, behind a door of their own.
const sources = shipped.filter(({ name }) => !name.startsWith('producers/'));

it('the front door offers no verifier whose roots could be replaced, and no root', () => {
  const names = Object.keys(front);
  expect(names).toContain('verifyGateway');
  expect(names.filter((name) => /under$|root|anchor|intermediate/i.test(name))).toEqual([]);
});

it('nothing here needs Node, or keeps state, or reads a clock', () => {
  expect(sources.length).toBeGreaterThan(25);
  expect(shipped.length).toBeGreaterThan(sources.length);
  for (const { name, text } of sources) {
    expect(text, name).not.toMatch(/from 'node:|\bBuffer\b|\bprocess\./);
    expect(text, name).not.toMatch(/Date\.now|new Date\(\)|Math\.random|performance\.now/);
    expect(text, name).not.toMatch(/^(export )?let /m);
  }
});

it('tests and their keys stay out of what is shipped', () => {
  for (const { name, text } of shipped) expect(text, name).not.toMatch(/from '\.{1,2}\/(.*\/)?testing\//);
  for (const { name, text } of sources) expect(text, name).not.toMatch(/from '\.{1,2}\/(.*\/)?producers\//);
});
