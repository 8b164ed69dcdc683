import * as z from 'zod';
import type { Plane, Row } from './row.ts';
import { billingRows } from './rows/billing.ts';
import { evidenceRows } from './rows/evidence.ts';
import { featureRows } from './rows/features.ts';
import { limitRows } from './rows/limits.ts';
import { listenerRows } from './rows/listener.ts';
import { operationRows } from './rows/operation.ts';
import { reachRows } from './rows/reach.ts';
import { secretRows } from './rows/secrets.ts';
import { signInRows } from './rows/sign-in.ts';
import { storeRows } from './rows/stores.ts';

/**
 * Every setting of every process. The readers, the places in `sotto.yaml`, the reference, the environment of child processes and the
 * types of the settings follow from these rows, in this order.
 */
const table = [
  ...evidenceRows,
  ...reachRows,
  ...storeRows,
  ...featureRows,
  ...secretRows,
  ...listenerRows,
  ...limitRows,
  ...operationRows,
  ...billingRows,
  ...signInRows,
];

/** Kinds with a default of their own. */
type Filled = z.ZodDefault<z.core.$ZodType> | z.ZodPipe<z.ZodDefault<z.core.$ZodType>, z.core.$ZodType>;
type FieldOf<R> = R extends { readonly kind: infer Kind extends z.ZodType }
  ? Kind extends Filled
    ? Kind
    : R extends { readonly default: unknown } | { readonly required: true }
      ? z.ZodType<z.output<Kind>>
      : z.ZodOptional<Kind>
  : never;
type SchemaOf<R> = z.ZodObject<{
  readonly [Each in R as Each extends { readonly env: infer Env extends string } ? Env : never]: FieldOf<Each>;
}>;
type OfPlane<R, P extends Plane> = R extends { readonly planes: readonly (infer Own)[] }
  ? P extends Own
    ? R
    : R extends { readonly start: infer Start }
      ? P extends 'start'
        ? Omit<R, keyof Start> & Start
        : never
      : never
  : never;

const schemaOf = <R extends Row>(rows: readonly R[]) =>
  z.object(Object.fromEntries(rows.map((row) => [row.env, fieldOf(row)]))) as unknown as SchemaOf<R>;

function fieldOf({ kind, required, describe, ...row }: Row): z.ZodType {
  const isFilled = required || kind.safeParse(undefined).success;
  const field = row.default !== undefined ? kind.default(row.default) : isFilled ? kind : kind.optional();
  return field.describe(describe);
}

export const planes = ['control', 'broker', 'keeper', 'start'] as const;

/** Returns the rows of a process. Those that the broker reads before it has its secrets come first. */
export function rowsOf(plane: Plane): readonly Row[] {
  const rows = table.flatMap((row: Row) =>
    row.planes.includes(plane) ? [row] : plane === 'start' && row.start !== undefined ? [{ ...row, ...row.start }] : [],
  );
  const isFirst = (row: Row): boolean => plane === 'broker' && row.early === true;
  return [...rows.filter(isFirst), ...rows.filter((row) => !isFirst(row))];
}

type AnyRow = (typeof table)[number];

/** The schema of every setting that a process reads. */
export const settingsSchemas = Object.fromEntries(
  planes.map((plane) => [plane, schemaOf(rowsOf(plane))]),
) as unknown as { readonly [P in Plane]: SchemaOf<OfPlane<AnyRow, P>> };

/** The settings of a process, by their variables. */
export type SettingsOf<P extends Plane> = Readonly<z.output<(typeof settingsSchemas)[P]>>;

/** The settings that the broker needs before it has its secrets. */
export const brokerEarlySchema = schemaOf(rowsOf('broker').filter(({ early }) => early)) as unknown as SchemaOf<
  OfPlane<Extract<AnyRow, { readonly early: true }>, 'broker'>
>;

export const billingSchema = schemaOf(billingRows);
export const signInSchema = schemaOf(signInRows);
