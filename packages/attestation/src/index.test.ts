import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import * as front from './index.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const shipped = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('testing'))
  .map((name) => ({ name, text: readFileSync(`${folder}${name}`, 'utf8') }));
// Producers run on the machine that makes the evidence and have their own entry point.
const sources = shipped.filter(({ name }) => !name.startsWith('producers/'));

it('the package exports no verifier whose roots could be replaced, and no root', () => {
  const names = Object.keys(front);
  expect(names).toContain('verifyGateway');
  expect(names.filter((name) => /under$|root|anchor|intermediate/i.test(name))).toEqual([]);
});

it('the verifiers do not need Node, keep state or read a clock', () => {
  expect(sources.length).toBeGreaterThan(25);
  expect(shipped.length).toBeGreaterThan(sources.length);
  for (const { name, text } of sources) {
    expect(text, name).not.toMatch(/from 'node:|\bBuffer\b|\bprocess\./);
    expect(text, name).not.toMatch(/Date\.now|new Date\(\)|Math\.random|performance\.now/);
    expect(text, name).not.toMatch(/^(export )?let /m);
  }
});

it('tests and their keys are not shipped', () => {
  for (const { name, text } of shipped) expect(text, name).not.toMatch(/from '\.{1,2}\/(.*\/)?testing\//);
  for (const { name, text } of sources) expect(text, name).not.toMatch(/from '\.{1,2}\/(.*\/)?producers\//);
});
