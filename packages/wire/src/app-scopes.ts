import * as z from 'zod';

/** What an app may ask a person for (Connected Apps, interface 4.6). */
export const appScopes = ['openid', 'email', 'inference', 'usage:read'] as const;
export type AppScope = (typeof appScopes)[number];

export const appScopeSchema = z.enum(appScopes);
