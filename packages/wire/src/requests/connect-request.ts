import * as z from 'zod';
import { omittable } from './without-nulls.ts';

/** Scopes that a connected app can request. */
export const appScopes = ['openid', 'email', 'inference', 'usage:read'] as const;
export type AppScope = (typeof appScopes)[number];

export const appScopeSchema = z.enum(appScopes);

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** https, or plain http on loopback. Refuses addresses that a person could mistake for another host. */
function isAppAddress(text: string): boolean {
  const url = /[\s\\\p{C}]/u.test(text) ? null : URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || text.includes('#')) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

const address = z.string().min(1).max(500).refine(isAppAddress, {
  error: 'must be an https address (or http on localhost, 127.0.0.1 or [::1]) without fragment, user or password',
});
const addresses = z
  .array(address)
  .max(20)
  .refine((list) => new Set(list).size === list.length, {
    error: 'must not name an address twice',
  });

// Users decide by this text, so it has no characters that hide or reverse the text around them.
const appName = z
  .string()
  .trim()
  .min(1)
  .max(60)
  .refine((text) => !/\p{C}/u.test(text), { error: 'must not contain control or format characters' });

const scopes = z
  .array(appScopeSchema)
  .min(1)
  .max(appScopes.length)
  .refine((list) => new Set(list).size === list.length, { error: 'must not name a scope twice' });

/** Body of `POST /connect/apps`. Redirect URIs are compared exactly, character by character. */
export const createAppSchema = z.strictObject({
  name: appName,
  homepage: address,
  type: z.enum(['confidential', 'public']),
  redirect_uris: addresses.min(1),
  post_logout_redirect_uris: omittable(addresses),
  scopes,
});
export type CreateApp = z.infer<typeof createAppSchema>;

/** Body of `PATCH /connect/apps/:id`. Absent fields keep their values. */
export const updateAppSchema = z.strictObject({
  name: omittable(appName),
  homepage: omittable(address),
  redirect_uris: omittable(addresses.min(1)),
  post_logout_redirect_uris: omittable(addresses),
  scopes: omittable(scopes),
});
export type UpdateApp = z.infer<typeof updateAppSchema>;

/** Query of `GET /connect/grants`. Without a workspace, lists the grants of the account. */
export const grantListQuerySchema = z.strictObject({ workspace_id: z.uuid().optional() });

/**
 * Body of `POST /connect/interactions/:uid`. Granting `inference` requires a limit, so that unlimited spending is never granted
 * by accident. Null means no limit.
 */
export const answerInteractionSchema = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('deny') }).meta({ title: 'DenyInteraction' }),
  z
    .strictObject({
      decision: z.literal('allow'),
      workspace_id: omittable(z.uuid()),
      credit_limit_usd: z.number().min(0).max(1_000_000).nullable().optional(),
    })
    .meta({ title: 'AllowInteraction' }),
]);
export type AnswerInteraction = z.infer<typeof answerInteractionSchema>;
