import * as z from 'zod';

export const pageFields = (most: number, usual: number) => ({
  limit: z.coerce.number().pipe(z.int().min(1).max(most)).default(usual).describe('Entries per page.'),
  cursor: z.string().min(1).max(200).optional().describe('`next_cursor` of the previous page.'),
});

/** The field of a query that asks for a whole list as CSV. */
export const exportFormat = {
  format: z.enum(['json', 'csv']).optional().describe('`csv` exports every row. Overrides the header `accept`.'),
};

/** Query of lists whose length the account's maximum bounds, such as keys and budgets. */
export const listPageFields = pageFields(500, 100);
export const listQuerySchema = z.strictObject(listPageFields);

/** A page of a list. `next_cursor` is the query `cursor` of the next page, or null on the last one. */
export const pageOf = <Entry extends z.ZodType>(entry: Entry) =>
  z.strictObject({ data: z.array(entry), next_cursor: z.string().nullable() });
