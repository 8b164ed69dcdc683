import * as z from 'zod';

/** Text that PostgreSQL can keep and compare: it refuses NUL, in a column and in a parameter. */
export const storableText = z
  .string()
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });
