import type * as z from 'zod';

/** Takes `null` for fields that were left out, as many clients write it. */
export const withoutNulls = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [Name in keyof Fields]: Exclude<Fields[Name], null>;
  };

/** A field that may be left out, also as `null`; for objects in which the `null` of another field has a meaning. */
export const omittable = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullable()
    .transform((value) => value ?? undefined)
    .optional();
