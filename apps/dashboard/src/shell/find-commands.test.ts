import { expect, it } from 'vitest';
import { type Command, findCommands } from './find-commands.ts';

const command = (group: Command['group'], label: string, words = ''): Command => ({
  group,
  label,
  words,
  run: () => {},
});
const commands = [
  command('Pages', 'Models'),
  command('Pages', 'Keys'),
  command('Actions', 'Create or revoke a key', 'new token'),
  ...Array.from({ length: 30 }, (_, index) => command('Models', `lab/model-${String(index)}`)),
];
const found = (typed: string): string[] =>
  findCommands(commands, typed).flatMap((group) => group.commands.map(({ label }) => label));

it('finds by any words in any order, also by words that are not shown', () => {
  expect(found('TOKEN new')).toEqual(['Create or revoke a key']);
  expect(found('key')).toEqual(['Keys', 'Create or revoke a key']);
  expect(found('no such thing')).toEqual([]);
});

it('puts documentation behind what was found before it was loaded', () => {
  const docs = [
    command('API', 'Create a key'),
    command('Guides', 'Keys'),
    command('Docs', 'Search for “create a key”'),
  ];
  const groupsOf = (typed: string) => findCommands([...docs, ...commands], typed).map(({ group }) => group);
  expect(groupsOf('create a key')).toEqual(['Actions', 'API', 'Docs']);
  expect(groupsOf('keys')).toEqual(['Pages', 'Guides']);
});

it('puts the group of the best label first, and cuts long groups', () => {
  expect(found('lab/')).toHaveLength(8);
  expect(found('model')[0]).toBe('Models');
  expect(found('create')[0]).toBe('Create or revoke a key');
  expect(found('')).toHaveLength(2 + 1 + 4);
});
