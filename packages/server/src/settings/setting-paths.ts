import type { Plane } from './row.ts';
import { planes, rowsOf } from './table.ts';

export type { Plane } from './row.ts';

/** The place of each setting in `sotto.yaml`, by the process that reads it and the variable that overrides it. */
export const settingPaths = Object.fromEntries(
  planes.map((plane) => [
    plane,
    Object.fromEntries(rowsOf(plane).flatMap(({ env, yaml }) => (yaml === undefined ? [] : [[env, yaml]]))),
  ]),
) as Readonly<Record<Plane, Readonly<Record<string, string>>>>;

/** Variables without a place in the file. The broker judges `NODE_ENV` before it reads any file. */
export const onlyVariables: ReadonlySet<string> = new Set(
  planes.flatMap(rowsOf).flatMap(({ env, yaml }) => (yaml === undefined ? [env] : [])),
);

/** Parts of `sotto.yaml` that stand for a file of their own, by the variable that names such a file. */
export const inlineParts: Readonly<Record<string, string>> = {
  PROVIDERS_FILE: 'providers',
  CATALOG_FILE: 'models',
  BILLING_FILE: 'billing.plan',
};
