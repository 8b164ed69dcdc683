import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../migrations/', import.meta.url));
/**
 * Changes that would break the previous release, which runs beside the new one on the new schema
 * (docs/operate/upgrades.md).
 */
const breaking: readonly RegExp[] = [
  /\bdrop\s+(table|column|schema|view|type)\b/i,
  /\brename\b/i,
  /\balter\s+column\s+\S+\s+(set\s+not\s+null|(set\s+data\s+)?type)\b/i,
  // The previous release inserts rows without a value for the column.
  /\badd\s+column\s+(?:(?!default|,|;)[\s\S])*\bnot\s+null(?![^,;]*\bdefault\b)/i,
];
/** A table whose name the same migration gives to a new one, and an index, whose name no query uses. */
const harmlessRenames = /alter table (\w+) rename to \w+;(?=[\s\S]*create table \1 )|alter index \w+ rename to/gi;
const problemsOf = (sql: string): string[] => {
  const text = sql.replace(/--.*$/gm, '').replace(/"/g, '').replace(harmlessRenames, '');
  return breaking.filter((pattern) => pattern.test(text)).map(String);
};

it.each(readdirSync(folder).filter((name) => name.endsWith('.sql')))('%s only adds', (name) => {
  expect(problemsOf(readFileSync(join(folder, name), 'utf8'))).toEqual([]);
});

it.each([
  ['drop table x;', 1],
  ['ALTER TABLE "x" DROP COLUMN "y";', 1],
  ['alter table x rename to y', 1],
  ['alter table x rename to y; create table z (like y);', 1],
  ['alter table x rename to y; create table x (like y);', 0],
  ['alter index x rename to y;', 0],
  ['alter table x alter column y set not null', 1],
  ['alter table x alter column y type bigint', 1],
  ['alter table x add column y text not null;', 1],
  ['alter table x add column y text not null default 0;', 0],
  ["alter table x add column y text default 'a' not null;", 0],
  ['alter table x add column y text; -- drop table', 0],
  ['create table x (id text not null primary key); create index y on x (id);', 0],
])('tells additions from breaking changes: %s', (sql, problems) => {
  expect(problemsOf(sql)).toHaveLength(problems);
});

it('each migration is later than the one before, because databases skip what is earlier than their last', () => {
  const journal = readFileSync(join(folder, 'meta/_journal.json'), 'utf8');
  const times = [...journal.matchAll(/"when": (\d+)/g)].map(([, when]) => Number(when));
  expect(times.length).toBeGreaterThan(0);
  expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
});
