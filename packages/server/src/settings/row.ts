import type * as z from 'zod';

/** The processes that read `sotto.yaml`. `start` is `npm start`, which runs control and the broker. */
export type Plane = 'control' | 'broker' | 'keeper' | 'start';

/** What a setting takes and means. */
interface Facts {
  /** Reads the text of a value. Some kinds have a default of their own. */
  readonly kind: z.ZodType;
  /** The value if the setting is not set. */
  readonly default?: unknown;
  /** True: a process does not start without it. */
  readonly required?: boolean;
  /** The sentence of the reference. */
  readonly describe: string;
}

interface Columns extends Facts {
  /** True: the broker reads it before it has its secrets. */
  readonly early?: true;
  /** What is different with `npm start`, which then reads the setting, too. */
  readonly start?: Partial<Facts>;
}

/** A setting of some processes. A variable that means something else to another process has a second row. */
export interface Row extends Columns {
  readonly env: string;
  /** Its place in `sotto.yaml`. Undefined: it is a variable only. */
  readonly yaml: string | undefined;
  readonly planes: readonly Plane[];
}

/** Returns a function that makes rows of these processes. */
export const rowOf =
  <const Planes extends readonly Plane[]>(...planes: Planes) =>
  <const Env extends string, const Own extends Columns>(env: Env, yaml: string | undefined, columns: Own) => ({
    ...columns,
    env,
    yaml,
    planes,
  });

export const control = rowOf('control');
export const broker = rowOf('broker');
export const keeper = rowOf('keeper');
export const start = rowOf('start');
export const controlAndStart = rowOf('control', 'start');
export const controlAndBroker = rowOf('control', 'broker');
