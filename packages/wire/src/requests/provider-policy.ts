import * as z from 'zod';
import { privacyClassSchema } from '../field-schemas.ts';
import { withoutNulls } from './without-nulls.ts';

export const providerIdSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,64}(\/[a-z0-9-]{1,64})?$/, {
    error: 'must be a provider id such as `acme` or `acme/eu`: lower-case letters, digits and hyphens',
  })
  .describe('`acme`, or `acme/eu` for a variant or region of it. `other` means all providers without a listed name.');

/** Sorts that a request can select. `default` is for workspaces only. */
export const requestSorts = ['privacy', 'price', 'latency', 'throughput'] as const;
const requestSortSchema = z.enum(requestSorts);
export type RequestSort = z.infer<typeof requestSortSchema>;

export const maxPriceSchema = z
  .strictObject({
    input: z.number().min(0).max(1_000_000).nullish(),
    output: z.number().min(0).max(1_000_000).nullish(),
  })
  .transform(withoutNulls)
  .describe('Price limits in USD per million tokens. An absent side has no limit.');
export type MaxPrice = z.infer<typeof maxPriceSchema>;

const providerIds = z.array(providerIdSchema).max(64);

const providerPolicyObjectSchema = z
  .strictObject({
    order: providerIds.nullish().describe('Providers to try first, in this order.'),
    only: providerIds.min(1).nullish().describe('Use only these providers.'),
    ignore: providerIds.nullish().describe('Never use these providers.'),
    allow_fallbacks: z
      .boolean()
      .nullish()
      .describe('False: only one attempt, at the first eligible route. Default true.'),
    sort: requestSortSchema.nullish().describe('Order of the eligible routes. Default `privacy`.'),
    minimum_privacy: privacyClassSchema.nullish().describe('The weakest class that any attempt may use.'),
    max_price: maxPriceSchema.nullish(),
    require_parameters: z.boolean().nullish().describe('Use only routes that accept every parameter of the request.'),
    max_attempts: z
      .int()
      .min(1)
      .max(3)
      .nullish()
      .describe("Most providers to try. Default 3, or the workspace's limit."),
  })
  .meta({ title: 'ProviderPolicyObject' })
  .transform(withoutNulls);

/** The description of the field `provider` of a request. */
export const providerNote =
  'The id of one provider, or a policy. Anything you omit uses the preferences of the workspace.';

/** The request field `provider`: the id of one provider, or a policy object. */
export const providerPolicySchema = z
  .union([providerIdSchema, providerPolicyObjectSchema], {
    error: 'must be a provider id such as `acme`, or a policy object',
  })
  .describe(
    'A provider id alone means `{"only": [id], "allow_fallbacks": false}`. A request can tighten the preferences of its workspace, never loosen them.',
  );
export type ProviderPolicyObject = z.infer<typeof providerPolicyObjectSchema>;
export type ProviderPolicy = z.infer<typeof providerPolicySchema>;
