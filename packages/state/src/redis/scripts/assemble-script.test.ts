import { parse } from 'luaparse';
import { describe, expect, it } from 'vitest';
import type { StepName } from '../../steps/step.ts';
import { steps } from '../../steps/steps.ts';
import { scriptNames } from '../script-runner.ts';
import { assembleScript } from './assemble-script.ts';
import { luaFiles } from './lua-files.ts';

/** The globals that Redis gives to a script. It refuses a script that reads or sets any other global. */
const known = 'ARGV KEYS error ipairs math pairs pcall redis string table tonumber tostring type unpack'.split(' ');

const fileOf = (script: string): string => script.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const ownText = (script: string): string => (luaFiles[fileOf(script)] ?? '').replace(/^(?:--.*\n)*/, '');

describe('the Lua scripts', () => {
  it('are one file for each script, and parts that scripts include', () => {
    const included = Object.values(luaFiles).flatMap((text) => /^-- include (.+)$/m.exec(text)?.[1]?.split(' ') ?? []);
    const files = [...scriptNames.map(fileOf), ...new Set(included.map((part) => `parts/${part}`))];
    expect(files.sort()).toEqual(Object.keys(luaFiles).sort());
  });

  it.each(scriptNames)('%s is Lua 5.1 and uses no global that Redis does not have', (name) => {
    const { globals } = parse(assembleScript(name).lua, { luaVersion: '5.1', scope: true }) as unknown as {
      globals: { name: string }[];
    };
    expect(globals.map((global) => global.name).filter((global) => !known.includes(global))).toEqual([]);
  });

  it.each(scriptNames)('%s uses the values that its first lines name, and no others', (name) => {
    const { takes, takesMore } = assembleScript(name);
    const text = ownText(name);
    const width = /each_request\('\w+', (\d+)/.exec(text)?.[1];
    if (width !== undefined) return expect(takes).toBe(Number(width));
    if (text.includes('each_shard(function('))
      return expect(takes).toBe(text.includes('each_shard(function()') ? 0 : 1);
    const callers = /\bguard\('/.test(text) ? 4 : 0;
    const used = [...text.matchAll(/\bARGV\[(\d+)\]/g)].map((match) => Number(match[1])).filter((at) => at > callers);
    expect([...new Set(used)].sort((one, other) => one - other)).toEqual(
      Array.from({ length: takes }, (_, at) => callers + 1 + at),
    );
    expect(/#ARGV|\bARGV,/.test(text)).toBe(takesMore);
  });

  it.each(Object.keys(steps) as StepName[])('%s admits the callers that its row says', (name) => {
    expect(/(?:\bguard|each_request)\('(\w+)'/.exec(ownText(name))?.[1] ?? 'none').toBe(steps[name].kind);
  });
});
