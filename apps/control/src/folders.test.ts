import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const root = import.meta.dirname;

/**
 * Returns the folders that each folder imports. Files beside this one belong to no folder, because they connect the
 * folders.
 */
function imports(): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>();
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const [folder = '', ...inside] = path.split('/');
    if (inside.length === 0 || !/(?<!\.test|\.integration)\.ts$/.test(path)) continue;
    const imported = folders.get(folder) ?? new Set();
    folders.set(folder, imported);
    for (const [, specifier = ''] of readFileSync(join(root, path), 'utf8').matchAll(/from '(\.[^']+)'/g)) {
      const [other = '', ...rest] = normalize(join(dirname(path), specifier)).split('/');
      if (rest.length > 0 && other !== folder) imported.add(other);
    }
  }
  return folders;
}

it('the folders of control import in one direction', () => {
  const folders = imports();
  expect(folders.size).toBeGreaterThan(15);
  const done = new Set<string>();
  const visit = (folder: string, trail: readonly string[]): void => {
    expect(trail, `circle: ${[...trail, folder].join(' → ')}`).not.toContain(folder);
    if (done.has(folder)) return;
    for (const next of folders.get(folder) ?? []) visit(next, [...trail, folder]);
    done.add(folder);
  };
  for (const folder of folders.keys()) visit(folder, []);
  expect([...(folders.get('accounts') ?? [])]).toEqual(['database']);
});

/** Guards, which routes call before their work, and the cursor of a page, which is read from the query. */
const mayRefuseByName = /^(?:credentials\/|serve\/page-cursor\.ts$|workspaces\/require-workspace\.ts$)/;

it('SQL code returns refusals, and routes give them public sentences', () => {
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.test|\.integration)\.ts$/.test(path) && !mayRefuseByName.test(path))
    .map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
  const hasSql = sources.filter(
    ([, text]) =>
      /\.query[<(]|inTransaction\(|\bdb\s*\.(?:select|insert|update|delete)\(/.test(text) &&
      !/\bserve\(|\bregister\b/.test(text),
  );
  expect(hasSql.length).toBeGreaterThan(50);
  const speaking = hasSql.filter(([, text]) => /\bServiceError\b|\bnotFound\b/.test(text));
  expect(speaking.map(([path]) => path)).toEqual([]);
});

it('every refusal is looked at, because a call that drops one would commit', () => {
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.test|\.integration)\.ts$/.test(path))
    .map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
  const declared = sources.flatMap(([, text]) =>
    [
      ...text.matchAll(
        /(?:function (\w+)|const (\w+) =)(?:(?!\n\n|\bfunction\b)[\s\S])*?\): Promise<[^{]*?\bRefused</g,
      ),
    ].map(([, name, constant]) => name ?? constant ?? ''),
  );
  const names = new Set(declared.filter((name) => name !== ''));
  expect(names).toContain('lockWorkspace');
  expect(names.size).toBeGreaterThan(15);
  const dropped = sources.flatMap(([path, text]) =>
    [...text.matchAll(/(?<![(,?:=]\s*)\n *await (\w+)\(/g)].flatMap(([, name = '']) =>
      names.has(name) ? [`${path}: ${name}`] : [],
    ),
  );
  expect(dropped).toEqual([]);
});
