import {
  boundaryClass,
  comparePrivacy,
  initialPreferences,
  type Preferences,
  preferencesSchema,
  requestError,
} from '@sotto/wire';
import { accept, type Decision, refuse } from './refusal.ts';

/** The five fields of interface 2.8, which a PUT replaces. The others stay as they are where it does not name them. */
const replaced = [
  'provider_allow_fallbacks',
  'provider_max_attempts',
  'provider_minimum_privacy',
  'provider_sort',
  'provider_ignore',
] as const satisfies readonly (keyof Preferences)[];

/**
 * Reads preferences as somebody sends them, on top of what the workspace has. Of the five fields, what is absent is as
 * in a new workspace. Throws the `ServiceError` that names the field where one is malformed; refuses a contradiction.
 */
export function readPreferences(sent: unknown, kept: Preferences = initialPreferences): Decision<Preferences> {
  const parsed = preferencesSchema.partial().safeParse(sent);
  if (!parsed.success) throw requestError(parsed.error);
  const fresh = Object.fromEntries(replaced.map((field) => [field, initialPreferences[field]]));
  const preferences = preferencesSchema.parse({ ...kept, ...fresh, ...withoutUndefined(parsed.data) });
  const boundary = boundaryClass[preferences.privacy_boundary];
  const { fallback_floor: floor, auto } = preferences;
  if (floor !== null && comparePrivacy(floor, boundary) < 0) {
    if (parsed.data.fallback_floor != null) {
      return refuse(
        'invalid_request',
        `\`fallback_floor\` is \`${floor}\`, below the privacy boundary (${preferences.privacy_boundary}): it takes \`${boundary}\` or stronger.`,
        'fallback_floor',
      );
    }
    // The boundary has risen above what the workspace allowed before.
    return accept(raised({ ...preferences, fallback_floor: boundary }, parsed.data.auto !== undefined));
  }
  if (parsed.data.auto !== undefined && comparePrivacy(boundaryClass[auto.tiers], boundary) < 0) {
    return refuse(
      'invalid_request',
      `\`auto.tiers\` is \`${auto.tiers}\`, below the privacy boundary: it takes \`${preferences.privacy_boundary}\` or stronger.`,
      'auto.tiers',
    );
  }
  return accept(raised(preferences, parsed.data.auto !== undefined));
}

/** Lifts what `/auto` may use to the boundary, where that was not sent but is older than the boundary. */
function raised(preferences: Preferences, isAutoSent: boolean): Preferences {
  const { auto, privacy_boundary } = preferences;
  const isBelow = comparePrivacy(boundaryClass[auto.tiers], boundaryClass[privacy_boundary]) < 0;
  return isBelow && !isAutoSent ? { ...preferences, auto: { ...auto, tiers: privacy_boundary } } : preferences;
}

const withoutUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
