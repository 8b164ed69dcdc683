import { type Maxima, type Maximum, type MaximumName, maxima } from '@sotto/contract';
import { setting } from '@sotto/server';
import type { z } from 'zod';

type Setting = (typeof maxima)[MaximumName]['setting'];

const rows = Object.entries<Maximum>(maxima);

/** A setting for each maximum of an account. */
export const maximumSettings = Object.fromEntries(
  rows.map(([, { setting: name, usual, what, note }]) => [
    name,
    setting
      .count('a number from 1 to 1000000', 1_000_000)
      .default(usual)
      .describe(`The most ${what}.${note === undefined ? '' : ` ${note}`}`),
  ]),
) as Readonly<Record<Setting, z.ZodDefault<ReturnType<typeof setting.count>>>>;

/** Reads the settings above. */
export const readMaxima = (env: Readonly<Record<Setting, number>>): Maxima =>
  Object.fromEntries(rows.map(([name, { setting: of }]) => [name, env[of as Setting]])) as Record<MaximumName, number>;

/** The settings above as variables, for another process. */
export const maximumVariables = (values: Maxima): Readonly<Record<string, string>> =>
  Object.fromEntries(rows.map(([name, { setting: of }]) => [of, String(values[name as MaximumName])]));
