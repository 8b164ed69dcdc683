import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { pages } from './pages.ts';

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

describe('the generated reference', () => {
  it.each(Object.entries(pages))('%s is up to date: else run `npm run docs`', (path, page) => {
    expect(read(path)).toBe(page());
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
