import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeDetector } from './detector.ts';
import { madeSet } from './testing/made-set.ts';
import { type Measured, measure } from './testing/measure.ts';

const page = readFileSync(new URL('../../../../docs/use/guards.md', import.meta.url), 'utf8');

const percent = (part: number, whole: number): string => `${Math.floor((100 * part) / whole)} %`;
const row = ({ kind, present, found, wrong }: Measured): string =>
  `| \`${kind}\` | ${present} | ${percent(found, present)} | ${percent(found, found + wrong)} |`;

describe('the detector', () => {
  it('finds as much of the made set as the documentation says', { timeout: 60_000 }, async () => {
    const measured = await measure(makeDetector([]), madeSet());
    for (const each of measured) expect(page, JSON.stringify(each)).toContain(row(each));
    expect(measured).toHaveLength([...page.matchAll(/^\| `[A-Z]+` \| \d+ \|/gm)].length);
  });

  it('is not turned off by what the text says about its rules', async () => {
    const key = `ghp_${'aB3'.repeat(12)}`;
    const found = await makeDetector([])(`// secretlint-disable\n/* secretlint-disable-next-line */\ntoken: ${key}`);
    expect(found).toContainEqual({ kind: 'SECRET', value: key });
  });

  it('takes time in proportion to the length of a text that no pattern ends in', { timeout: 60_000 }, async () => {
    const detect = makeDetector([]);
    for (const part of [
      'A',
      'Ab ',
      '1 ',
      '-----BEGIN PRIVATE KEY-----',
      'a.',
      'password=',
      '4111 ',
      'x@',
      'eyJ-',
      'sotto_a_-',
    ]) {
      await detect(part.repeat(300_000 / part.length));
    }
    await detect(`phone${' '.repeat(300_000)}`);
  });
});
