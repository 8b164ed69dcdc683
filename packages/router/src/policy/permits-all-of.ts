import { boundaryClass, comparePrivacy, type Preferences, type PrivacyClass } from '@sotto/wire';

/**
 * Whether preferences permit everything that others permitted, so that tickets of those may stay valid. Each field is
 * equal or looser. Everything that is not proven looser must be equal. That includes what a plan may use at all: a
 * provider that is enabled again, or within a higher ceiling, may have a stronger tier, and a plan that begins there does
 * not step down to the tier of the ticket.
 */
export const permitsAllOf = (before: Preferences, after: Preferences): boolean =>
  Object.values(looser).every((isLooser) => isLooser(before, after));

type Looser = (before: Preferences, after: Preferences) => boolean;

const isWeakerOrEqual = (after: PrivacyClass, before: PrivacyClass): boolean => comparePrivacy(after, before) <= 0;

const equalIn =
  (field: keyof Preferences): Looser =>
  (before, after) =>
    JSON.stringify(before[field]) === JSON.stringify(after[field]);

const looser: Readonly<Record<keyof Preferences, Looser>> = {
  provider_allow_fallbacks: (before, after) => after.provider_allow_fallbacks || !before.provider_allow_fallbacks,
  provider_max_attempts: (before, after) => after.provider_max_attempts >= before.provider_max_attempts,
  provider_minimum_privacy: (before, after) =>
    isWeakerOrEqual(after.provider_minimum_privacy, before.provider_minimum_privacy),
  provider_sort: equalIn('provider_sort'),
  provider_ignore: equalIn('provider_ignore'),
  privacy_boundary: (before, after) =>
    isWeakerOrEqual(boundaryClass[after.privacy_boundary], boundaryClass[before.privacy_boundary]),
  // Null leaves stepping down to the request, so a floor may permit less than none.
  fallback_floor: ({ fallback_floor: before }, { fallback_floor: after }) =>
    before === after || (before !== null && after !== null && isWeakerOrEqual(after, before)),
  auto: equalIn('auto'),
  max_price: equalIn('max_price'),
};
