import * as z from 'zod';
import { privacyClassSchema } from '../privacy-schema.ts';
import { maxPriceSchema, providerIdSchema, requestSorts } from './provider-policy.ts';

export const boundaries = ['Standard', 'Private', 'Maximum'] as const;
export const boundarySchema = z.enum(boundaries);
export type Boundary = z.infer<typeof boundarySchema>;

/** A workspace's privacy boundary as the weakest class it allows (design 6). */
export const boundaryClass = { Standard: 'anonymous', Private: 'private', Maximum: 'tee' } as const;

/**
 * Routing preferences of a workspace: the five fields of interface 2.8 and, beside them, the dashboard's settings.
 * A request may only tighten what they say.
 */
export const preferencesSchema = z.strictObject({
  provider_allow_fallbacks: z.boolean(),
  provider_max_attempts: z.int().min(1).max(3),
  provider_minimum_privacy: privacyClassSchema,
  provider_sort: z.enum(['default', ...requestSorts]),
  provider_ignore: z.array(providerIdSchema).max(200),
  privacy_boundary: boundarySchema,
  /** The weakest class that a fallback may step down to; null: no step down unless the request says so. */
  fallback_floor: privacyClassSchema.nullable(),
  auto: z.strictObject({
    strategy: z.enum(['balanced', 'cheapest', 'fastest', 'most_private']),
    tiers: boundarySchema,
    models: z.strictObject({ mode: z.enum(['all', 'only', 'except']), ids: z.array(z.string()).max(500) }),
  }),
  max_price: maxPriceSchema.nullable(),
});
export type Preferences = z.infer<typeof preferencesSchema>;

/** What a workspace starts with. */
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

/** Preferences as they are sent: what is absent is filled in. */
export const preferencesRequestSchema = preferencesSchema.partial();
