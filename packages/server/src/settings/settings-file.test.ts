import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { partName, readFileOrPart, readSettingsFile, unreadByStart } from './settings-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-test-part-'));
});
afterAll(() => rm(folder, { recursive: true }));

const read = async (text: string, part: string): Promise<string> => {
  const file = join(folder, 'sotto.yaml');
  await writeFile(file, text);
  return (await readFileOrPart(partName(file, part))).toString('utf8');
};

it('reads a list with its key, on the same lines', async () => {
  const text = 'control: {port: 1}\nproviders:\n  - id: a\n    name: A\nlog: {level: info}\n';
  expect(await read(text, 'providers')).toBe('\nproviders:\n  - id: a\n    name: A\n');
});

it('reads the whole content of a file below the key of its list, with the date of its facts', async () => {
  const text = 'models:\n  as_of: 2026-07-01\n  models:\n    - id: a/b\n';
  expect(await read(text, 'models')).toBe('\n  as_of: 2026-07-01\n  models:\n    - id: a/b\n');
});

it('reads the content of a map, on the same lines', async () => {
  const text = 'billing:\n  mode: x\n  plan:\n    fee: {percent: 5}\n    packages:\n      - {id: a}\nlog: {}\n';
  expect(await read(text, 'billing.plan')).toBe('\n\n\n    fee: {percent: 5}\n    packages:\n      - {id: a}\n');
});

it('reads a whole file, and throws if a part is not there', async () => {
  await expect(read('log: {}\n', 'models')).rejects.toThrow('cannot be read');
  expect((await readFileOrPart(join(folder, 'sotto.yaml'))).toString()).toBe('log: {}\n');
});

it('names the settings that npm start does not read, and none that it reads', () => {
  const text =
    'webhooks: {networks: 10.0.0.0/8}\ndrain: {delay_s: 5}\nbroker: {host: 10.0.0.1}\nkeeper: {port: 4002}\n';
  const read = readSettingsFile(text);
  expect(read.ok && unreadByStart(read.value)).toEqual(['drain.delay_s', 'broker.host']);
});
