/** The public id that stands for all partner providers that are not listed by name. */
export const otherProviderId = 'other';

/**
 * Whether an id in a policy names this provider: the provider itself, or the provider that it is a variant or region
 * of.
 */
export const matchesProvider = (entry: string, providerId: string): boolean =>
  entry === providerId || (providerId.startsWith(entry) && providerId.charCodeAt(entry.length) === 47);

/** The provider that a variant or region belongs to: `acme` for `acme/eu`, and for `acme` itself. */
export function baseProviderId(providerId: string): string {
  const slash = providerId.indexOf('/');
  return slash === -1 ? providerId : providerId.slice(0, slash);
}
