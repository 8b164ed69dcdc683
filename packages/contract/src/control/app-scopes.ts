// Apart from the schemas: pages that need only the list do without the schema library.
/** Scopes that a connected app can request. */
export const appScopes = ['openid', 'email', 'inference', 'usage:read'] as const;
export type AppScope = (typeof appScopes)[number];
