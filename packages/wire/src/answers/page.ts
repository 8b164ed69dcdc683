import * as z from 'zod';

/** A page of a list. `next_cursor` is the query `cursor` of the next page, or null on the last one. */
export const pageOfSchema = <Entry extends z.ZodType>(entry: Entry) =>
  z.strictObject({ data: z.array(entry), next_cursor: z.string().nullable() });
