import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it('docs/guides/sizing.md plans with the figures that the bench has written', () => {
  const measured = read('docs/PERFORMANCE.md');
  const guide = read('docs/guides/sizing.md');
  const section = /\n## What a million requests take\n(.*?)\n## /s.exec(measured)?.[1] ?? '';
  const rows = section.split('\n').filter((line) => /^\| (broker|control|Redis|Postgres) \|/.test(line));
  expect(rows).toHaveLength(4);
  for (const row of rows) expect(guide).toContain(row);
  const bytes = /grew by (\d+) bytes a request/.exec(section)?.[1];
  expect(guide).toContain(`grows by ${bytes} bytes a request`);
  const hours = rows.reduce((sum, row) => sum + Number(row.split('|')[3]), 0);
  expect(guide).toContain(`Together ${hours.toFixed(2)} core hours a million`);
  const kib = Number(/\| Sotto, private flow \(tickets\) \| \d+ \| \d+ \| ([\d.]+) \|/.exec(measured)?.[1]);
  expect(guide).toContain(`take ${Math.round((kib * 1000) / 1024)} MiB`);
});
