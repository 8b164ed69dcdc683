import * as z from 'zod';

/** A day such as `2026-11-21`, which is its midnight UTC, or an ISO 8601 instant with `Z` or an offset. */
const time = z
  .string()
  .max(64)
  .transform((text, context) => {
    const at = new Date(isDateOrInstant(text) ? text : Number.NaN);
    // PostgreSQL and ISO 8601 both write these years with four digits. An offset may lead out of the range.
    if (at.getUTCFullYear() >= 1970 && at.getUTCFullYear() <= 9999) return at;
    context.addIssue({
      code: 'custom',
      message: 'must be a date such as `2026-11-21` or an instant such as `2026-11-21T08:00:00Z`, from 1970 to 9999',
    });
    return z.NEVER;
  });

const dateOrInstant = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

const isDateOrInstant = (text: string): boolean => dateOrInstant.safeParse(text).success;

/** The fields of a query that limit its time. */
export const timeRange = {
  from: time
    .optional()
    .meta({ description: 'Inclusive: a date (its midnight UTC) or an instant.', example: '2026-11-01' }),
  to: time
    .optional()
    .meta({ description: 'Exclusive: a date (its midnight UTC) or an instant.', example: '2026-12-01' }),
};

export function refuseEmptyRange(
  { from, to }: { from?: Date | undefined; to?: Date | undefined },
  context: z.RefinementCtx,
) {
  if (from !== undefined && to !== undefined && from >= to)
    context.addIssue({ code: 'custom', path: ['to'], message: 'must be later than `from`' });
}
