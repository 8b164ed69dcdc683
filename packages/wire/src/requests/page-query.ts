import * as z from 'zod';

/** The fields of a query that pages a list. */
export const pageFields = (most: number, usual: number) => ({
  limit: z.coerce.number().pipe(z.int().min(1).max(most)).default(usual),
  cursor: z.string().min(1).max(200).optional(),
});

/** Query of lists whose length the account's maximum bounds, such as keys and budgets. */
export const listPageFields = pageFields(500, 100);
export const listQuerySchema = z.strictObject(listPageFields);
