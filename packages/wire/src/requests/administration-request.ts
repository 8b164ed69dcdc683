import * as z from 'zod';
import { type ActName, actNameSchema } from '../answers/administration.ts';
import { pageFields } from './page-query.ts';

const acts = z
  .string()
  .max(2000)
  .transform((text, context): readonly ActName[] => {
    const asked = text.split(',').map((name) => actNameSchema.safeParse(name).data);
    if (!asked.includes(undefined)) return asked.filter((name) => name !== undefined);
    context.addIssue({ code: 'custom', message: 'must be a comma list of acts such as `key_created,key_revoked`' });
    return z.NEVER;
  });

/** Query of the audit logs. CSV has every matching row. */
export const actQuerySchema = z.strictObject({
  ...pageFields(100, 20),
  format: z.enum(['json', 'csv']).optional(),
  act: acts.optional(),
  actor_account_id: z.uuid().optional(),
});
export type ActQuery = z.infer<typeof actQuerySchema>;

/** Query of `GET /operator/audit`. */
export const operatorActQuerySchema = actQuerySchema.extend({ account_id: z.uuid().optional() });

/** Query of `GET /operator/accounts`. */
export const accountQuerySchema = z.strictObject({
  ...pageFields(100, 20),
  /** A part of the address, or an account id. */
  search: z.string().trim().min(1).max(254).optional(),
});
export type AccountQuery = z.infer<typeof accountQuerySchema>;

/** Body of `POST /operator/accounts/:id/credit`. */
export const creditAccountSchema = z.strictObject({
  amount_usd: z.number().gt(0).max(1_000_000),
  /** An invoice number, for example. Each reference credits once. */
  reference: z.string().trim().min(1).max(200),
});

/** Body of `PUT /operator/accounts/:id/monthly-grant`. */
export const setMonthlyGrantSchema = z.strictObject({
  /** Null: the amount of the deployment. */
  amount_usd: z.number().min(0).max(1_000_000).nullable(),
});

/** Body of `POST /operator/invitations`. */
export const inviteToSignUpSchema = z.strictObject({
  email: z.string().trim().toLowerCase().max(254).pipe(z.email()),
});

/** Body of `POST /operator/rejected-settlements/:id/dismiss`. */
export const dismissSettlementSchema = z.strictObject({ why: z.string().trim().min(1).max(500) });
