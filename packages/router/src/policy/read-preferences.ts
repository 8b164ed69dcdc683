import {
  boundaryClass,
  comparePrivacy,
  initialPreferences,
  type Preferences,
  parseRequest,
  preferencesSchema,
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

const sentSchema = preferencesSchema.partial();

/** The fields of which null is a value: none. Elsewhere it stands for a field that was left out. */
const nullable: ReadonlySet<string> = new Set<keyof Preferences>(['fallback_floor', 'max_price']);

/**
 * Reads preferences as somebody sends them, on top of what the workspace has; a draft is on top of a new workspace's. Of
 * the five fields, what is absent is as in a new workspace. Throws the `ServiceError` that names the field where one is
 * malformed.
 *
 * What the workspace chose for fallbacks and `/auto` may be below its boundary: each plan goes by the stronger of both, so
 * a boundary that is raised and lowered again leaves these choices as they were. A choice for fallbacks that is new and
 * below the boundary is refused.
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
  typeof sent !== 'object' || sent === null || Array.isArray(sent)
    ? sent
    : Object.fromEntries(Object.entries(sent).filter(([name, value]) => value !== null || nullable.has(name)));

const withoutUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
