import * as z from 'zod';

/** A time in UTC, such as `2027-01-31T00:00:00Z`. */
export const timeSchema = z.iso.datetime({ error: 'must be a time such as 2027-01-31T00:00:00Z' });

/** The id of a Git commit: SHA-1 or SHA-256. */
export const commitSchema = z
  .string()
  .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/, 'must be a full commit id: 40 or 64 lower-case hex digits');
