import { type Maxima, type Maximum, type MaximumName, maxima } from '@sotto/contract';

type Setting = (typeof maxima)[MaximumName]['setting'];

const rows = Object.entries<Maximum>(maxima);

export const readMaxima = (env: Readonly<Record<Setting, number>>): Maxima =>
  Object.fromEntries(rows.map(([name, { setting: of }]) => [name, env[of as Setting]])) as Record<MaximumName, number>;
