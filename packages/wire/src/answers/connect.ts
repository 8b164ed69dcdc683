import * as z from 'zod';
import { workspaceRoleSchema } from '../field-schemas.ts';
import { appScopeSchema } from '../requests/connect-request.ts';
import { pageOfSchema } from './page.ts';

const instant = z.iso.datetime();

/** A developer's app. Only the answer that created or rotated `client_secret` has it. */
export const appAnswerSchema = z.strictObject({
  id: z.uuid(),
  /** The same as `id`, under the name that OAuth libraries expect. */
  client_id: z.uuid(),
  name: z.string(),
  homepage: z.string(),
  type: z.enum(['confidential', 'public']),
  redirect_uris: z.array(z.string()),
  post_logout_redirect_uris: z.array(z.string()),
  scopes: z.array(appScopeSchema),
  created_at: instant,
  /** Null for a public app, which has no secret. */
  secret_created_at: instant.nullable(),
  client_secret: z.string().optional(),
});
export type AppAnswer = z.infer<typeof appAnswerSchema>;

/** Answer of `GET /connect/apps`. */
export const appListAnswerSchema = pageOfSchema(appAnswerSchema);

/** The access that a user granted to an app. Active while `ended_at` is null. */
export const grantAnswerSchema = z.strictObject({
  id: z.uuid(),
  app: z.strictObject({ id: z.uuid(), name: z.string(), homepage: z.string() }),
  scopes: z.array(appScopeSchema),
  workspace: z.strictObject({ id: z.uuid(), name: z.string() }),
  /** The account that granted it. */
  granted_by: z.uuid(),
  /** The key that usage lists the app's requests under. */
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

/** Answer of `GET /connect/interactions/:uid`: the access that an app requests from the signed-in user. */
export const interactionAnswerSchema = z.strictObject({
  app: z.strictObject({
    name: z.string(),
    homepage: z.string(),
    /** Always false: app publishers are not verified. */
    verified: z.literal(false),
    /** Host that the browser is redirected to after the decision. */
    redirect_host: z.string(),
  }),
  scopes: z.array(z.strictObject({ scope: appScopeSchema, sentence: z.string() })),
  /** Workspaces in which the caller may create keys, the default one first. */
  workspaces: z.array(
    z.strictObject({ id: z.uuid(), name: z.string(), is_default: z.boolean(), role: workspaceRoleSchema }),
  ),
  /** Whether the caller already has an active grant for this app. */
  returning: z.boolean(),
  /** Email address of the signed-in user. */
  email: z.string(),
  /** The app requires a newer sign-in than this session. The grant is refused until then. */
  sign_in_again: z.boolean(),
});
export type InteractionAnswer = z.infer<typeof interactionAnswerSchema>;

/** Answer of `POST /connect/interactions/:uid`: the address to redirect the browser to. */
export const interactionDoneAnswerSchema = z.strictObject({ redirect_to: z.string() });
