import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

it('docs/tools/clients.md states the versions that the tests run', () => {
  const { dependencies, devDependencies } = JSON.parse(read('test/package.json')) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const [, ...parts] = read('docs/tools/clients.md').split(/^\| \*\*/m);
  const rowsOf = (language: string) =>
    [...(parts.find((part) => part.startsWith(language)) ?? '').matchAll(/^\|.*`([^`]+)` \| ([\d.]+) \|/gm)].map(
      ([, name = '', version = '']) => ({ name, version }),
    );
  const installed: Readonly<Record<string, string>> = { ...dependencies, ...devDependencies };
  for (const { name, version } of rowsOf('JavaScript')) expect(version, name).toBe(installed[name]);
  const requirements = ['requirements', 'requirements-openai-2'].flatMap((file) =>
    read(`test/contract/sdks/python/${file}.txt`)
      .trim()
      .replaceAll(/\[.*?\]/g, '')
      .split('\n'),
  );
  expect(
    rowsOf('Python')
      .map(({ name, version }) => `${name}==${version}`)
      .sort(),
  ).toEqual(requirements.sort());
  const go = read('test/contract/sdks/go/go.mod');
  for (const { name, version } of rowsOf('Go')) expect(go).toMatch(new RegExp(`/${name}(?:/v\\d+)? v${version}\\n`));
  expect([rowsOf('JavaScript').length, rowsOf('Go').length]).toEqual([10, 2]);
});
