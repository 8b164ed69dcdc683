/** Privacy classes, weakest to strongest. */
export const privacyClasses = ['anonymous', 'private', 'tee', 'e2ee'] as const;
export type PrivacyClass = (typeof privacyClasses)[number];

const rank: Record<PrivacyClass, number> = { anonymous: 0, private: 1, tee: 2, e2ee: 3 };

/** Negative if `a` is weaker than `b`, positive if it is stronger, 0 if they are equal. */
export const comparePrivacy = (a: PrivacyClass, b: PrivacyClass): number => rank[a] - rank[b];

export function strongest(first: PrivacyClass, ...rest: (PrivacyClass | undefined)[]): PrivacyClass {
  let best = first;
  for (const next of rest) if (next !== undefined && comparePrivacy(next, best) > 0) best = next;
  return best;
}
