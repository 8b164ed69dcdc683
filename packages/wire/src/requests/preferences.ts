import * as z from 'zod';
import { privacyClassSchema } from '../field-schemas.ts';
import { modelIdField } from './model-ids.ts';
import { maxPriceSchema, providerIdSchema, requestSorts } from './provider-policy.ts';

export const boundaries = ['Standard', 'Private', 'Maximum'] as const;
export const boundarySchema = z.enum(boundaries);
export type Boundary = z.infer<typeof boundarySchema>;

/** A workspace's privacy boundary: the weakest class that it allows. */
export const boundaryClass = { Standard: 'anonymous', Private: 'private', Maximum: 'tee' } as const;

/**
 * Routing preferences of a workspace. A request can only tighten them. The page docs/use/routing-preferences.md explains the
 * fields.
 */
export const preferencesSchema = z.strictObject({
  provider_allow_fallbacks: z.boolean(),
  provider_max_attempts: z.int().min(1).max(3),
  provider_minimum_privacy: privacyClassSchema,
  provider_sort: z.enum(['default', ...requestSorts]).describe('Sort for requests without `provider`.'),
  provider_ignore: z.array(providerIdSchema).max(200),
  privacy_boundary: boundarySchema.describe(
    'The weakest class that any request may use: `anonymous`, `private` or `tee`.',
  ),
  fallback_floor: privacyClassSchema
    .nullable()
    .describe(
      'The weakest class that a fallback may use, never below the boundary. Null: fallbacks keep the class unless the request allows less.',
    ),
  auto: z
    .strictObject({
      strategy: z.enum(['balanced', 'cheapest', 'fastest', 'most_private']),
      tiers: boundarySchema,
      models: z.strictObject({ mode: z.enum(['all', 'only', 'except']), ids: z.array(modelIdField).max(500) }),
    })
    .describe('For requests to `/auto` only.'),
  max_price: maxPriceSchema.nullable(),
});
export type Preferences = z.infer<typeof preferencesSchema>;

/** Preferences of a new workspace. */
export const initialPreferences: Preferences = {
  provider_allow_fallbacks: true,
  provider_max_attempts: 3,
  provider_minimum_privacy: 'anonymous',
  provider_sort: 'default',
  provider_ignore: [],
  privacy_boundary: 'Standard',
  fallback_floor: null,
  auto: { strategy: 'balanced', tiers: 'Private', models: { mode: 'all', ids: [] } },
  max_price: null,
};
