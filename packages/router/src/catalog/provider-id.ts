/** The public id under which partner providers that are not listed by name appear (interface 2.2, rule 2). */
export const otherProviderId = 'other';

/** Whether a provider id of a policy names this provider: itself, or a variant or region of it (rule 1). */
export const matchesProvider = (entry: string, providerId: string): boolean =>
  entry === providerId || (providerId.startsWith(entry) && providerId.charCodeAt(entry.length) === 47);

/** The provider a variant or region belongs to: `acme` for `acme/eu`, and for `acme` itself. */
export function baseProviderId(providerId: string): string {
  const slash = providerId.indexOf('/');
  return slash === -1 ? providerId : providerId.slice(0, slash);
}
