import {
  boundaryClass,
  comparePrivacy,
  initialPreferences,
  isObject,
  type Preferences,
  parseRequest,
  preferencesSchema,
} from '@sotto/wire';
import { accept, type Decision, refuse } from './refusal.ts';

/** The five fields that a PUT always replaces. The others keep their values if the PUT omits them. */
const replaced = [
  'provider_allow_fallbacks',
  'provider_max_attempts',
  'provider_minimum_privacy',
  'provider_sort',
  'provider_ignore',
] as const satisfies readonly (keyof Preferences)[];

const sentSchema = preferencesSchema.partial();

/** The fields in which null is a value. In other fields, null means that the field was omitted. */
const nullable: ReadonlySet<string> = new Set<keyof Preferences>(['fallback_floor', 'max_price']);

/**
 * Reads submitted preferences on top of the workspace's current ones, or a draft on top of a new workspace's. If one of
 * the five replaced fields is absent, it gets its value in a new workspace. Throws a `ServiceError` that names a
 * malformed field.
 *
 * The choices for fallbacks and `/auto` may be below the workspace's boundary. Each plan uses the stronger of both. So
 * raising and lowering the boundary leaves these choices unchanged. A new fallback choice below the boundary is
 * refused.
 */
export function readPreferences(sent: unknown, kept?: Preferences): Decision<Preferences> {
  const asked = parseRequest(sentSchema, withoutOmissions(sent));
  const fresh = Object.fromEntries(replaced.map((field) => [field, initialPreferences[field]]));
  const preferences = preferencesSchema.parse({
    ...(kept ?? initialPreferences),
    ...fresh,
    ...withoutUndefined(asked),
  });
  const { fallback_floor: floor, privacy_boundary: named } = preferences;
  const boundary = boundaryClass[named];
  const isNew = kept !== undefined && floor !== kept.fallback_floor;
  if (isNew && floor !== null && comparePrivacy(floor, boundary) < 0) {
    const message = `\`fallback_floor\` is \`${floor}\`, below the privacy boundary (${named}): it takes \`${boundary}\` or stronger.`;
    return refuse('invalid_request', message, 'fallback_floor');
  }
  return accept(preferences);
}

const withoutOmissions = (sent: unknown): unknown =>
  isObject(sent)
    ? Object.fromEntries(Object.entries(sent).filter(([name, value]) => value !== null || nullable.has(name)))
    : sent;

const withoutUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
