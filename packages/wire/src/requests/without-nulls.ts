import type * as z from 'zod';

/** Treats `null` as absent, because many clients send it. */
export const withoutNulls = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [Name in keyof Fields]: Exclude<Fields[Name], null>;
  };

/** An optional field that may be `null`, for objects in which the `null` of another field has a meaning. */
export const omittable = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullable()
    .transform((value) => value ?? undefined)
    .optional();
