import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onlyVariables, settingPaths } from '@sotto/server';
import { describe, expect, it } from 'vitest';
import { settingsWithoutMeaning } from './configuration.ts';
import { pages } from './pages.ts';
import { schemas } from './settings-schema.ts';

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

describe('the generated reference', () => {
  it.each(Object.entries(pages))('%s is up to date: else run `npm run docs`', (path, page) => {
    expect(read(path)).toBe(page());
  });

  it('has a sentence about every setting', () => {
    expect(settingsWithoutMeaning()).toEqual([]);
  });

  it.each(Object.entries(schemas))('gives every setting of %s a place in sotto.yaml', (plane, schema) => {
    const paths = settingPaths[plane as keyof typeof schemas];
    const names = Object.keys(schema.shape).filter((name) => !onlyVariables.has(name));
    expect(names.filter((name) => paths[name] === undefined)).toEqual([]);
    // `npm start` has the places of both planes, and not all of their settings.
    if (plane !== 'start') expect(Object.keys(paths).toSorted()).toEqual(names.toSorted());
  });

  it('has every table: none is empty', () => {
    for (const path of Object.keys(pages).filter((path) => path.endsWith('.md')))
      expect(read(path).match(/^\| --- /gm)?.length, path).toBeGreaterThan(1);
    expect(read('docs/reference/configuration.md')).toContain(
      '| `DATABASE_URL` | `data.database_url` | a URL such as postgresql://',
    );
    expect(read('docs/reference/access.md')).toContain(
      '| `POST /v1/chat/completions` | ticket, inference key | any page |',
    );
    expect(read('docs/reference/errors.md')).toContain('| 429 | `rate_limited` |');
    expect(read('docs/reference/encryption-protocols.md')).toContain('| Tinfoil | yes | yes | yes | no | yes |');
    expect(read('docs/reference/headers.md')).toContain('| `x-router-ticket: …` | broker |');
  });
});
