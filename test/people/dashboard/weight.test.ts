import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const built = fileURLToPath(new URL('../../../apps/dashboard/built/', import.meta.url));
const read = (file: string): Buffer => readFileSync(join(built, file));

/** The scripts that a browser loads to show a page: the script's own imports and theirs, in turn, before it runs. */
function loadedWith(script: string, seen = new Set<string>()): Set<string> {
  if (seen.has(script)) return seen;
  seen.add(script);
  const text = read(script).toString('utf8');
  for (const [, name] of text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g))
    loadedWith(`assets/${name}`, seen);
  return seen;
}

it('the first page loads less than 170 KB of compressed script, and is sent compressed', () => {
  const page = read('index.html').toString('utf8');
  const scripts = [...page.matchAll(/(?:src|href)="\/(assets\/[\w.-]+\.js)"/g)].map(([, name]) => name ?? '');
  const loaded = new Set(scripts.flatMap((script) => [...loadedWith(script)]));
  const kilobytes = [...loaded].reduce((sum, file) => sum + read(`${file}.gz`).length, 0) / 1000;
  console.log(`the dashboard's first page: ${kilobytes.toFixed(0)} KB of script, gzipped, in ${loaded.size} files`);
  expect(kilobytes).toBeGreaterThan(50);
  expect(kilobytes).toBeLessThan(170);
  expect(loaded.size).toBeLessThan(4);
});

it('each script and style has its compressed twins', () => {
  const files = readdirSync(join(built, 'assets'));
  const whole = files.filter((name) => /\.(?:js|css)$/.test(name));
  expect(whole.length).toBeGreaterThan(5);
  for (const name of whole) expect(files).toEqual(expect.arrayContaining([`${name}.br`, `${name}.gz`]));
});

it('the page has no inline script, and contacts no other origin', () => {
  const page = read('index.html').toString('utf8');
  for (const [tag, body] of page.matchAll(/<script[^>]*>([^<]*)<\/script>/g)) {
    expect(tag).toContain('src="/assets/');
    expect(body).toBe('');
  }
  expect(page.replaceAll('http://www.w3.org', '')).not.toMatch(/https?:\/\//);
});
