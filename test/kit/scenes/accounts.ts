import type { Service, TestAccount } from '../service.ts';

/** Creates accounts by name, concurrently. */
export async function createAccounts<Name extends string>(
  service: Service,
  preferences: Readonly<Record<Name, Parameters<Service['setPreferences']>[1]>>,
): Promise<Record<Name, TestAccount>> {
  const names = Object.keys(preferences) as Name[];
  const accounts = await Promise.all(
    names.map((name) =>
      service.createAccount({ usd: 1000, preferences: { provider_sort: 'privacy', ...preferences[name] } }),
    ),
  );
  return Object.fromEntries(names.map((name, index) => [name, accounts[index]])) as Record<Name, TestAccount>;
}
