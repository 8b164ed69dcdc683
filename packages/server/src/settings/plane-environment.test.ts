import { expect, it } from 'vitest';
import { planeEnvironment } from './plane-environment.ts';
import { rowsOf, settingsSchemas } from './table.ts';

const ofStart = new Map(rowsOf('start').map((row) => [row.env, row.default]));

it.each(['control', 'broker'] as const)(
  'hands to %s each setting that it and `npm start` read, and no other',
  (plane) => {
    const given = Object.fromEntries(
      [...rowsOf('control'), ...rowsOf('broker'), ...rowsOf('start')].map(({ env }) => [env, `the operator's ${env}`]),
    );
    const read = rowsOf(plane).map(({ env }) => env);
    expect(planeEnvironment(plane, given)).toEqual(
      Object.fromEntries(read.filter((env) => ofStart.has(env)).map((env) => [env, `the operator's ${env}`])),
    );
  },
);

it.each(['control', 'broker'] as const)('hands to %s the defaults of `npm start`, also for what is empty', (plane) => {
  const empty = Object.fromEntries([...ofStart.keys()].map((env) => [env, '']));
  const defaults = rowsOf(plane).flatMap(({ env }) => {
    const value = ofStart.get(env);
    return value === undefined ? [] : [[env, String(value)]];
  });
  expect(defaults.length).toBeGreaterThan(5);
  expect(planeEnvironment(plane, {})).toEqual(Object.fromEntries(defaults));
  expect(planeEnvironment(plane, empty)).toEqual(Object.fromEntries(defaults));
});

it('opens sign-up with `npm start`, and demands an invitation elsewhere', () => {
  expect(planeEnvironment('control', {}).SIGN_UP).toBe('open');
  expect(settingsSchemas.control.shape.SIGN_UP.parse(undefined)).toBe('invited');
});
