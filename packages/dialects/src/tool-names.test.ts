import { expect, it } from 'vitest';
import { chatName, ToolNames } from './tool-names.ts';

const name = (name: string, namespace?: string): string => chatName({ name, namespace });

it('a tool keeps its name if every provider takes it', () => {
  expect(name('exec_command')).toBe('exec_command');
  expect(name('search', 'mcp__docs')).toBe('mcp__docs__search');
  expect(name('_create', 'mcp__calendar__')).toBe('mcp__calendar___create');
});

it('a name that some provider refuses gets another one, always the same and never another tool’s', () => {
  const long = 'x'.repeat(80);
  const names = [name('a.b'), name('a:b'), name(long), name(`${long}y`), name('b', 'a.')];
  for (const each of names) expect(each).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(new Set(names).size).toBe(names.length);
  expect(name('a.b')).toBe(names[0]);
});

it('a call is read back as the tool that was offered', () => {
  const names = new ToolNames();
  const tool = { kind: 'custom' as const, name: 'apply.patch', namespace: 'fs' };
  const offered = names.add(tool);
  expect(names.has(offered)).toBe(true);
  expect(names.named(offered)).toEqual(tool);
  expect(names.named('made_up')).toEqual({ kind: 'function', name: 'made_up', namespace: undefined });
});
