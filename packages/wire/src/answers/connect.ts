import * as z from 'zod';
import { appScopeSchema } from '../app-scopes.ts';
import { workspaceRoleSchema } from '../workspace-role-schema.ts';

const instant = z.iso.datetime();

/** A developer's app; `client_secret` is there once, in the answer that made or rotated it. */
export const appAnswerSchema = z.strictObject({
  id: z.uuid(),
  /** The same as `id`, under the name that OAuth libraries ask for. */
  client_id: z.uuid(),
  name: z.string(),
  homepage: z.string(),
  type: z.enum(['confidential', 'public']),
  redirect_uris: z.array(z.string()),
  post_logout_redirect_uris: z.array(z.string()),
  scopes: z.array(appScopeSchema),
  created_at: instant,
  /** Null for a public app, which has none. */
  secret_created_at: instant.nullable(),
  client_secret: z.string().optional(),
});
export type AppAnswer = z.infer<typeof appAnswerSchema>;

/** Answer of `GET /connect/apps`. */
export const appListAnswerSchema = z.strictObject({ data: z.array(appAnswerSchema) });

/** What somebody has allowed an app: active while `ended_at` is null. */
export const grantAnswerSchema = z.strictObject({
  id: z.uuid(),
  app: z.strictObject({ id: z.uuid(), name: z.string(), homepage: z.string() }),
  scopes: z.array(appScopeSchema),
  workspace: z.strictObject({ id: z.uuid(), name: z.string() }),
  /** The account that allowed it. */
  granted_by: z.uuid(),
  /** Under which usage tells what the app did. */
  key_id: z.uuid(),
  credit_limit_usd: z.number().nullable(),
  spent_usd: z.number(),
  created_at: instant,
  last_used_at: instant.nullable(),
  expires_at: instant,
  ended_at: instant.nullable(),
});
export type GrantAnswer = z.infer<typeof grantAnswerSchema>;

/** Answer of `GET /connect/grants`: the newest first. */
export const grantListAnswerSchema = z.strictObject({ data: z.array(grantAnswerSchema) });

/** Answer of `GET /connect/interactions/:uid`: what an app asks of whoever is signed in. */
export const interactionAnswerSchema = z.strictObject({
  app: z.strictObject({
    name: z.string(),
    homepage: z.string(),
    /** Nobody has checked that the app is whose it says. */
    verified: z.literal(false),
    /** The host that the browser goes on to, whatever the decision. */
    redirect_host: z.string(),
  }),
  scopes: z.array(z.strictObject({ scope: appScopeSchema, sentence: z.string() })),
  /** Those in which the caller may use keys of their own, the default one first. */
  workspaces: z.array(
    z.strictObject({ id: z.uuid(), name: z.string(), is_default: z.boolean(), role: workspaceRoleSchema }),
  ),
  /** Whether the caller has an active grant for this app already. */
  returning: z.boolean(),
  /** Who is signed in. */
  email: z.string(),
  /** The app asks for a sign-in newer than this session: allowing is refused until there is one. */
  sign_in_again: z.boolean(),
});
export type InteractionAnswer = z.infer<typeof interactionAnswerSchema>;

/** Answer of `POST /connect/interactions/:uid`: where the browser goes on. */
export const interactionDoneAnswerSchema = z.strictObject({ redirect_to: z.string() });
export type InteractionDoneAnswer = z.infer<typeof interactionDoneAnswerSchema>;
