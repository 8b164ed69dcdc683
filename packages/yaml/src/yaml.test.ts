import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type FileProblem, type FileResult, readYaml, readYamlAs } from './yaml.ts';

const schema = z.strictObject({ owners: z.array(z.strictObject({ name: z.string(), age: z.int() })) });
const problemsOf = (result: FileResult<unknown>): FileProblem[] => (result.ok ? [] : result.problems);

describe('readYaml', () => {
  it('returns each value with its line', () => {
    const read = readYaml('owners:\n  - name: Ada\n    age: 36\n  - name: Bo\n');
    if (!read.ok) throw new Error('not read');
    expect(read.value.value).toEqual({ owners: [{ name: 'Ada', age: 36 }, { name: 'Bo' }] });
    expect(read.value.lineOf(['owners', 0, 'age'])).toBe(3);
    expect(read.value.lineOf(['owners', 1, 'name'])).toBe(4);
  });

  it('returns the line of the nearest parent for a missing value', () => {
    const read = readYaml('\nowners:\n  - name: Ada\n    age: 36\n  - name: Bo\n');
    if (!read.ok) throw new Error('not read');
    expect(read.value.lineOf(['owners', 1, 'age'])).toBe(5);
    expect(read.value.lineOf(['owners', 7, 'age'])).toBe(3);
    expect(read.value.lineOf(['nothing'])).toBe(2);
  });

  it('returns a number as it is written', () => {
    const read = readYaml('id: 265487654321098765\nlist: [0123, 1.50, text]\n');
    if (!read.ok) throw new Error('not read');
    const { numberAt } = read.value;
    expect([['id'], ['list', 0], ['list', 1], ['list', 2]].map(numberAt)).toEqual([
      ...['265487654321098765', '0123', '1.50', undefined],
    ]);
  });

  it('says line 1 of an empty file', () => {
    const read = readYaml('');
    expect(read.ok && read.value.lineOf(['owners'])).toBe(1);
  });

  it('reports malformed YAML with its line, in one line of text', () => {
    expect(problemsOf(readYaml('providers:\n  - id: acme\n   name: Acme\n'))).toEqual([
      { line: 3, message: 'malformed YAML: Sequence item without - indicator' },
    ]);
  });

  it('refuses a key that is written twice, at the second', () => {
    const [problem, ...others] = problemsOf(readYaml('a: 1\nb: 2\na: 3\n'));
    expect(problem).toMatchObject({ line: 3, message: expect.stringContaining('unique') });
    expect(others).toEqual([]);
  });

  it.each([
    ['a list', 'a: 1\nbase: &base [1]\nagain: *base\n'],
    ['an empty map', 'a: 1\nbase: &base {}\nagain: *base\n'],
    ['a merge key', 'a: 1\nbase: &base {b: 1}\nagain: {<<: *base}\n'],
    ['an anchor that is not there', 'a: 1\n\nagain: *base\n'],
  ])('refuses an alias of %s, with its line', (_, text) => {
    expect(problemsOf(readYaml(text))).toEqual([{ line: 3, message: 'aliases (`*name`) are not supported' }]);
  });

  it('refuses a file whose aliases would expand to an enormous size', () => {
    const levels = 'bcdefghij'
      .split('')
      .map((name, i) =>
        `${name}: &${name} [${'abcdefghi'[i]}]`.replace(/\[(.)\]/, '[*$1,*$1,*$1,*$1,*$1,*$1,*$1,*$1,*$1,*$1]'),
      );
    expect(readYaml(`a: &a [x]\n${levels.join('\n')}\n`).ok).toBe(false);
  });

  it('refuses what only YAML 1.1 knows rather than throw', () => {
    expect(problemsOf(readYaml('%YAML 1.1\n---\na: {<<: 5}\n'))).toEqual([
      { line: 1, message: 'only YAML 1.2 is supported' },
    ]);
  });
});

describe('readYamlAs', () => {
  it('gives the parsed file with its source', () => {
    const read = readYamlAs('owners:\n  - {name: Ada, age: 36}\n', schema);
    if (!read.ok) throw new Error('not read');
    expect(read.value.file.owners).toEqual([{ name: 'Ada', age: 36 }]);
    expect(read.value.source.lineOf(['owners', 0])).toBe(2);
  });

  it('reports every issue with its line and its path', () => {
    const text = 'owners:\n  - name: Ada\n    age: old\n  - name: Bo\n    age: 3\n    shoe: 44\n  - age: 5\n';
    const problems = problemsOf(readYamlAs(text, schema));
    expect(problems.map(({ line }) => line)).toEqual([3, 4, 7]);
    expect(problems.map(({ message }) => message)).toEqual([
      '`owners.0.age` is `old`: it must be a number',
      '`owners.1` has an unknown field: `shoe`',
      '`owners.2.name` is missing: it must be a string',
    ]);
  });

  it('names the file if its whole value is wrong', () => {
    expect(problemsOf(readYamlAs('', schema))).toEqual([{ line: 1, message: 'the file must be an object' }]);
  });

  it('passes syntax errors on', () => {
    expect(problemsOf(readYamlAs('a: [', schema)).length).toBeGreaterThan(0);
  });
});
