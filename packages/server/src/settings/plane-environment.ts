import type { Environment } from './read-settings.ts';
import { rowsOf } from './table.ts';

/**
 * Returns the environment of a plane that `npm start` runs: of the settings that both read, those that were given, and otherwise the
 * defaults of `npm start`.
 */
export function planeEnvironment(plane: 'control' | 'broker', given: Environment): Record<string, string> {
  const defaults = new Map(rowsOf('start').map((row) => [row.env, row.default]));
  return Object.fromEntries(
    rowsOf(plane).flatMap(({ env }) => {
      const value = defaults.has(env) ? given[env] || defaults.get(env) : undefined;
      return value === undefined ? [] : [[env, String(value)]];
    }),
  );
}
