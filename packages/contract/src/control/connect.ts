import { omittable } from '@sotto/wire';
import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { givenId, idFilter, instant, limitUsd } from '../fields.ts';
import { listQuerySchema, pageOf } from '../lists.ts';
import { appScopes } from './app-scopes.ts';
import { workspaceRole } from './workspaces.ts';

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
  .refine((list) => new Set(list).size === list.length, { error: 'must not name an address twice' });

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
  homepage: address.describe('https, or http on loopback.'),
  type: z
    .enum(['confidential', 'public'])
    .describe(
      '`confidential`: a server that can keep a secret. `public`: runs in browsers or on devices and has no secret.',
    ),
  redirect_uris: addresses.min(1).describe('https, or http on loopback. Compared exactly.'),
  post_logout_redirect_uris: omittable(addresses),
  scopes: scopes.describe('The scopes that the app can request.'),
});
export type CreateApp = z.infer<typeof createAppSchema>;

/** Body of `PATCH /connect/apps/:id`. Absent fields keep their values. */
export const updateAppSchema = z.strictObject({
  name: omittable(appName),
  homepage: omittable(address),
  redirect_uris: omittable(addresses.min(1)).describe('A change ends all grants of the app.'),
  post_logout_redirect_uris: omittable(addresses),
  scopes: omittable(scopes),
});
export type UpdateApp = z.infer<typeof updateAppSchema>;

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
  client_secret: z.string().optional().describe('Only in the answer that created it.'),
});
export type AppAnswer = z.infer<typeof appAnswerSchema>;

export const appListAnswerSchema = pageOf(appAnswerSchema);

/** Query of `GET /connect/grants`. Without a workspace, lists the grants of the account. */
export const grantListQuerySchema = z.strictObject({
  workspace_id: idFilter.describe('Lists the grants in this workspace. The default is the grants of this account.'),
});

/** The access that a user granted to an app. Active while `ended_at` is null. */
export const grantAnswerSchema = z.strictObject({
  id: z.uuid(),
  app: z.strictObject({ id: z.uuid(), name: z.string(), homepage: z.string() }),
  scopes: z.array(appScopeSchema),
  workspace: z.strictObject({
    id: z.uuid(),
    name: z.string().nullable().describe('Null: the caller has left the workspace.'),
  }),
  granted_by: z.uuid(),
  key_id: z.uuid().describe('The key that usage lists the requests of the app under. Its secret does not exist.'),
  credit_limit_usd: z.number().nullable(),
  spent_usd: z.number(),
  tag: z.string().nullable().describe('The tag of its key. `PATCH /v1/keys/{id}` with the `key_id` changes it.'),
  created_at: instant,
  last_used_at: instant.nullable(),
  expires_at: instant,
  ended_at: instant.nullable().describe('Null while the grant is active.'),
});
export type GrantAnswer = z.infer<typeof grantAnswerSchema>;

/** Answer of `GET /connect/grants`: the newest first. */
export const grantListAnswerSchema = z.strictObject({ data: z.array(grantAnswerSchema) });

/** Answer of `GET /connect/interactions/:uid`: the access that an app requests from the signed-in user. */
export const interactionAnswerSchema = z.strictObject({
  app: z.strictObject({
    name: z.string(),
    homepage: z.string(),
    verified: z.literal(false).describe('Always false: publishers of apps are not verified.'),
    /** Host that the browser is redirected to after the decision. */
    redirect_host: z.string(),
  }),
  scopes: z.array(z.strictObject({ scope: appScopeSchema, sentence: z.string() })),
  /** Workspaces in which the caller may create keys, the default one first. */
  workspaces: z.array(z.strictObject({ id: z.uuid(), name: z.string(), is_default: z.boolean(), role: workspaceRole })),
  /** Whether the caller already has an active grant for this app. */
  returning: z.boolean(),
  /** Email address of the signed-in user. */
  email: z.string(),
  /** The app requires a newer sign-in than this session. The grant is refused until then. */
  sign_in_again: z.boolean(),
});
export type InteractionAnswer = z.infer<typeof interactionAnswerSchema>;

/**
 * Body of `POST /connect/interactions/:uid`. Granting `inference` requires a limit, so that unlimited spending is never granted
 * by accident. Null means no limit.
 */
export const answerInteractionSchema = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('deny') }).meta({ title: 'DenyInteraction' }),
  z
    .strictObject({
      decision: z.literal('allow'),
      workspace_id: omittable(givenId).describe(
        'The workspace whose models, limits and balance the app uses. Default: the default workspace.',
      ),
      credit_limit_usd: limitUsd
        .nullable()
        .optional()
        .describe(
          'The most that the app can spend in total, in USD. Null: no limit. Required if it requests `inference`.',
        ),
    })
    .meta({ title: 'AllowInteraction' }),
]);
export type AnswerInteraction = z.infer<typeof answerInteractionSchema>;

/** Answer of `POST /connect/interactions/:uid`: the address to redirect the browser to. */
export const interactionDoneAnswerSchema = z.strictObject({ redirect_to: z.string() });

const app = { note: 'The id of an enabled app of this account.', id: 'app' } as const;

const uid = { note: 'The id in the address of the consent page.', maxLength: 100 };

/** Apps that an account has registered. */
export const appContracts = contractsWith({ credentials: ['session'] })({
  'GET /v1/connect/apps': {
    operationId: 'listApps',
    summary: 'List your apps',
    query: listQuerySchema,
    answer: appListAnswerSchema,
    returns: 'A page of the enabled apps of this account, oldest first.',
    errors: ['not_found'],
  },
  'POST /v1/connect/apps': {
    operationId: 'createApp',
    summary: 'Register an app',
    description: 'Only this answer has the `client_secret` of a confidential app. A public app has no secret.',
    body: createAppSchema,
    status: 201,
    answer: appAnswerSchema,
    returns: 'The app.',
    examples: {
      body: {
        name: 'Notebook',
        homepage: 'https://notebook.example',
        type: 'confidential',
        redirect_uris: ['https://notebook.example/callback'],
        post_logout_redirect_uris: ['https://notebook.example/'],
        scopes: ['openid', 'inference'],
      },
    },
    errors: ['not_found', 'conflict'],
    maximum: 'apps',
  },
  'PATCH /v1/connect/apps/{id}': {
    operationId: 'updateApp',
    summary: 'Change an app',
    description: 'A change of the redirect URIs ends all grants of the app.',
    params: { id: app },
    body: updateAppSchema,
    answer: appAnswerSchema,
    returns: 'The updated app.',
    examples: { body: { name: 'Notebook 2' } },
  },
  'POST /v1/connect/apps/{id}/rotate-secret': {
    operationId: 'rotateAppSecret',
    summary: 'Rotate the secret of an app',
    description: 'The old secret stops working and all grants of the app end. Send `content-type: application/json`.',
    params: { id: app },
    body: 'optional',
    answer: appAnswerSchema,
    returns: 'The app, with its new secret.',
    errors: ['invalid_request', 'payload_too_large', 'unsupported_media_type', 'conflict'],
  },
  'DELETE /v1/connect/apps/{id}': {
    operationId: 'disableApp',
    summary: 'Disable an app',
    description: 'This cannot be undone. All grants of the app end.',
    params: { id: app },
    status: 204,
    returns: 'The app is disabled.',
  },
});

/** Access that users granted to apps. */
export const grantContracts = contractsWith({ credentials: ['session'] })({
  'GET /v1/connect/grants': {
    operationId: 'listGrants',
    summary: 'List grants',
    description:
      'Active grants first, then ended ones, newest first. With a workspace, lists the grants of all its members.',
    query: grantListQuerySchema,
    answer: grantListAnswerSchema,
    returns: 'The grants.',
    errors: ['not_found'],
  },
  'DELETE /v1/connect/grants/{id}': {
    operationId: 'disconnectGrant',
    summary: 'Disconnect an app',
    description:
      'For the user who granted access and for admins of the workspace. Tokens and unused tickets of the app stop working.',
    params: { id: { note: 'The id of a grant.', id: 'grant' } },
    status: 204,
    returns: 'The grant has ended.',
  },
});

/** The page on which a user allows or denies an app. */
export const interactionContracts = contractsWith({ credentials: ['session'], params: { uid } })({
  'GET /v1/connect/interactions/{uid}': {
    operationId: 'readInteraction',
    summary: 'Get the request of an app',
    description: 'Works in the browser in which the request began, for the first account that opens it.',
    answer: interactionAnswerSchema,
    returns: 'The request.',
    errors: ['not_found', 'conflict', 'invalid_request'],
  },
  'POST /v1/connect/interactions/{uid}': {
    operationId: 'answerInteraction',
    summary: 'Allow or deny an app',
    description: 'Redirect the browser to `redirect_to`, which leads back to the app.',
    maximum: 'keys',
    body: answerInteractionSchema,
    answer: interactionDoneAnswerSchema,
    returns: 'The address to redirect to.',
    examples: { body: { decision: 'allow', credit_limit_usd: 5 } },
    errors: ['not_found', 'conflict'],
  },
});
