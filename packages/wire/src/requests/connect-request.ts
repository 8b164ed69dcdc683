import * as z from 'zod';
import { appScopeSchema } from '../app-scopes.ts';
import { storableText } from './storable-text.ts';
import { omittable } from './without-nulls.ts';

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** https, or plain http to a machine's own loopback; nothing that a reader could take for another place. */
function isAppAddress(text: string): boolean {
  const url = /[\s\\\p{C}]/u.test(text) ? null : URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || text.includes('#')) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

const address = storableText.min(1).max(500).refine(isAppAddress, {
  error: 'must be an https address (or http on localhost, 127.0.0.1 or [::1]) without fragment, user or password',
});
const addresses = z
  .array(address)
  .max(20)
  .refine((list) => new Set(list).size === list.length, {
    error: 'must not name an address twice',
  });

// Shown to people who decide by it: no characters that hide or turn around what stands beside them.
const appName = storableText
  .trim()
  .min(1)
  .max(60)
  .refine((text) => !/\p{C}/u.test(text), { error: 'must not contain control or format characters' });

const scopes = z
  .array(appScopeSchema)
  .min(1)
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

/** Body of `PATCH /connect/apps/:id`: what is absent stays. */
export const updateAppSchema = z.strictObject({
  name: omittable(appName),
  homepage: omittable(address),
  redirect_uris: omittable(addresses.min(1)),
  post_logout_redirect_uris: omittable(addresses),
  scopes: omittable(scopes),
});
export type UpdateApp = z.infer<typeof updateAppSchema>;

/** Query of `GET /connect/grants`: without a workspace, what the account itself has allowed. */
export const grantListQuerySchema = z.strictObject({ workspace_id: z.uuid().optional() });

/**
 * Body of `POST /connect/interactions/:uid`. To allow `inference` takes a limit, so that none is given by accident:
 * null says that there is none.
 */
export const answerInteractionSchema = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('deny') }),
  z.strictObject({
    decision: z.literal('allow'),
    workspace_id: omittable(z.uuid()),
    credit_limit_usd: z.number().min(0).max(1_000_000).nullable().optional(),
  }),
]);
export type AnswerInteraction = z.infer<typeof answerInteractionSchema>;
