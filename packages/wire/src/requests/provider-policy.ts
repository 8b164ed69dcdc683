import * as z from 'zod';
import { privacyClassSchema } from '../field-schemas.ts';
import { withoutNulls } from './without-nulls.ts';

/** `acme`, or `acme/eu` for a variant or region of it. */
export const providerIdSchema = z.string().regex(/^[a-z0-9-]{1,64}(\/[a-z0-9-]{1,64})?$/, {
  error: 'must be a provider id such as `acme` or `acme/eu`: lower-case letters, digits and hyphens',
});

/** Sorts that a request can select. `default` is for workspaces only. */
export const requestSorts = ['privacy', 'price', 'latency', 'throughput'] as const;
const requestSortSchema = z.enum(requestSorts);
export type RequestSort = z.infer<typeof requestSortSchema>;

/** Ceilings in USD per million tokens. An absent side has no limit. */
export const maxPriceSchema = z
  .strictObject({
    input: z.number().min(0).max(1_000_000).nullish(),
    output: z.number().min(0).max(1_000_000).nullish(),
  })
  .transform(withoutNulls);
export type MaxPrice = z.infer<typeof maxPriceSchema>;

const providerIds = z.array(providerIdSchema).max(64);

const providerPolicyObjectSchema = z
  .strictObject({
    order: providerIds.nullish(),
    only: providerIds.min(1).nullish(),
    ignore: providerIds.nullish(),
    allow_fallbacks: z.boolean().nullish(),
    sort: requestSortSchema.nullish(),
    minimum_privacy: privacyClassSchema.nullish(),
    max_price: maxPriceSchema.nullish(),
    require_parameters: z.boolean().nullish(),
    max_attempts: z.int().min(1).max(3).nullish(),
  })
  .meta({ title: 'ProviderPolicyObject' })
  .transform(withoutNulls);

/** The request field `provider`: the id of one provider, or a policy object. */
export const providerPolicySchema = z.union([providerIdSchema, providerPolicyObjectSchema], {
  error: 'must be a provider id such as `acme`, or a policy object',
});
export type ProviderPolicyObject = z.infer<typeof providerPolicyObjectSchema>;
export type ProviderPolicy = z.infer<typeof providerPolicySchema>;
