import * as z from 'zod';
import { usageErrors, usageStatuses } from '../answers/control.ts';
import { listPageFields } from './page-query.ts';

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

const filters = {
  from: time.optional(),
  to: time.optional(),
  model: z.string().min(1).max(256).optional(),
  key_id: z.uuid().optional(),
  workspace_id: z.uuid().optional(),
  /** Overrides the header `accept`. */
  format: z.enum(['json', 'csv']).optional(),
};

function refuseEmptyRange({ from, to }: { from?: Date | undefined; to?: Date | undefined }, context: z.RefinementCtx) {
  if (from !== undefined && to !== undefined && from >= to)
    context.addIssue({ code: 'custom', path: ['to'], message: 'must be later than `from`' });
}

/**
 * Query of `GET /usage`. `from` is inclusive, `to` exclusive. `limit` and `cursor` page JSON only, because CSV has every
 * matching row.
 */
export const usageQuerySchema = z
  .strictObject({
    ...listPageFields,
    ...filters,
    status: z.enum(usageStatuses).optional(),
    error: z.enum(usageErrors).optional(),
    provider: z.string().min(1).max(256).optional(),
    /** The account that created the key. */
    member_id: z.uuid().optional(),
  })
  .superRefine(refuseEmptyRange);
export type UsageQuery = z.infer<typeof usageQuerySchema>;

export const usageGroups = [
  'day',
  'month',
  'workspace_id',
  'key_id',
  'operation',
  'model',
  'provider',
  'privacy_class',
] as const;
export type UsageGroup = (typeof usageGroups)[number];

const group = z.enum(usageGroups);
const groups = z
  .string()
  .max(500)
  .transform((text, context): readonly UsageGroup[] => {
    const asked = text.split(',').map((name) => group.safeParse(name).data);
    if (!asked.includes(undefined)) return usageGroups.filter((name) => asked.includes(name));
    context.addIssue({
      code: 'custom',
      message: `must be a comma list of ${usageGroups.map((name) => `\`${name}\``).join(', ')}`,
    });
    return z.NEVER;
  });

/** Query of `GET /usage/daily`. Days are whole UTC days: `from` is rounded down and `to` up to midnight. */
export const usageDailyQuerySchema = z
  .strictObject({ group_by: groups.default(['day']), ...filters })
  .superRefine(refuseEmptyRange);
export type UsageDailyQuery = z.infer<typeof usageDailyQuerySchema>;

/** Query of `GET /models/uptime`. */
export const uptimeQuerySchema = z.strictObject({ model: z.string().max(256) });
