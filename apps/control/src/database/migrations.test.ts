import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../migrations/', import.meta.url));
/** Of before the first version: nobody upgrades across these. */
const unreleased = 10;

/** What would break the version before, which works beside the new one on the new schema (docs/UPGRADING.md). */
const breaking: readonly RegExp[] = [
  /\bdrop\s+(table|column|schema|view|type)\b/i,
  /\brename\b/i,
  /\balter\s+column\s+\S+\s+(set\s+not\s+null|(set\s+data\s+)?type)\b/i,
  // Rows that the version before writes have no value for it.
  /\badd\s+column\s+(?:(?!default|,|;)[\s\S])*\bnot\s+null(?![^,;]*\bdefault\b)/i,
];
const problemsOf = (sql: string): string[] => {
  const text = sql.replace(/--.*$/gm, '').replace(/"/g, '');
  return breaking.filter((pattern) => pattern.test(text)).map(String);
};

it.each(readdirSync(folder).filter((name) => name.endsWith('.sql')))('%s only adds', (name) => {
  if (Number(name.slice(0, 4)) < unreleased) return;
  expect(problemsOf(readFileSync(join(folder, name), 'utf8'))).toEqual([]);
});

it.each([
  ['drop table x;', 1],
  ['ALTER TABLE "x" DROP COLUMN "y";', 1],
  ['alter table x rename to y', 1],
  ['alter table x alter column y set not null', 1],
  ['alter table x alter column y type bigint', 1],
  ['alter table x add column y text not null;', 1],
  ['alter table x add column y text not null default 0;', 0],
  ["alter table x add column y text default 'a' not null;", 0],
  ['alter table x add column y text; -- drop table', 0],
  ['create table x (id text not null primary key); create index y on x (id);', 0],
])('tells what adds from what does not: %s', (sql, problems) => {
  expect(problemsOf(sql)).toHaveLength(problems);
});
