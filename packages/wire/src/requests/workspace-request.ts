import * as z from 'zod';
import { workspaceRoleSchema } from '../field-schemas.ts';
import { listPageFields } from './page-query.ts';
import { omittable } from './without-nulls.ts';

const workspaceName = z.string().trim().min(1).max(100);

/** Body of `POST /workspaces` and of `PATCH /workspaces/:id`. */
export const workspaceNameSchema = z.strictObject({ name: workspaceName });

/** Body of `PATCH /workspaces/:id/members/:accountId`. It cannot make an owner, because that needs the member's consent. */
export const memberRoleSchema = z.strictObject({ role: workspaceRoleSchema.exclude(['owner']) });
export type MemberRole = z.infer<typeof memberRoleSchema>['role'];

/** Body of `POST /workspaces/:id/invitations`. The role `owner` transfers the workspace. */
export const createInvitationSchema = z.strictObject({
  email: z.string().trim().toLowerCase().max(254).pipe(z.email()),
  role: workspaceRoleSchema,
});
export type CreateInvitation = z.infer<typeof createInvitationSchema>;

/** Body of `POST /invitations/read`, `/invitations/accept` and `/invitations/decline`. */
export const invitationTokenSchema = z.strictObject({ token: z.string().min(1).max(200) });

/** Body of `PUT /workspaces/:id/budgets`. Without a member or key, limits the workspace. */
export const setBudgetSchema = z
  .strictObject({
    limit_usd: z.number().min(0).max(1_000_000),
    member_id: omittable(z.uuid()),
    key_id: omittable(z.uuid()),
  })
  .refine(({ member_id, key_id }) => member_id === undefined || key_id === undefined, {
    path: ['key_id'],
    error: 'must not be given beside `member_id`, because a budget limits one of them',
  });
export type SetBudget = z.infer<typeof setBudgetSchema>;

/** Body of `PUT /workspaces/:id/webhook`. The service sends there only by https, to public addresses. */
export const setAlertWebhookSchema = z.strictObject({
  url: z.string().max(2000).refine(isWebhookUrl, {
    error: 'must be a URL such as https://hooks.example.com/sotto, without a user name, a password or a fragment',
  }),
});
export type SetAlertWebhook = z.infer<typeof setAlertWebhookSchema>;

function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '' && !text.includes('#');
}

const keyName = z.string().trim().min(1).max(100);
/** Credit limit of a key in USD, bounded so that nano-USD stay below 2^53. */
const creditLimit = z.number().min(0).max(1_000_000);

/** The largest number that the column holds. The deployment's own limit is lower. */
const perMinute = z.int().min(1).max(2_147_483_647);

/** When a key expires, which model ids its requests may name, and its own rate limits. */
const keyRules = {
  expires_at: z.iso.datetime().max(64).nullish(),
  allowed_models: z.array(z.string().min(1).max(256)).min(1).max(100).nullish(),
  requests_per_minute: perMinute.nullish(),
  tokens_per_minute: perMinute.nullish(),
};

/** Body of `POST /keys`. */
export const createKeySchema = z.strictObject({
  name: keyName,
  kind: z.enum(['inference', 'management']),
  workspace_id: omittable(z.uuid()),
  credit_limit_usd: creditLimit.nullish(),
  openai_compatible: omittable(z.boolean()),
  ...keyRules,
});
export type CreateKey = z.infer<typeof createKeySchema>;

/** Body of `PATCH /keys/:id`. Absent fields keep their values; `null` removes a limit, the expiry or the allowed models. */
export const updateKeySchema = z.strictObject({
  name: omittable(keyName),
  credit_limit_usd: creditLimit.nullable().optional(),
  openai_compatible: omittable(z.boolean()),
  ...keyRules,
  /** A disabled key is refused until it is enabled. */
  disabled: omittable(z.boolean()),
});
export type UpdateKey = z.infer<typeof updateKeySchema>;

/** Body of `POST /keys/:id/rotate-secret`: how long the secrets so far still work. */
export const rotateKeySchema = z.strictObject({ overlap_hours: z.number().min(0).max(168).default(24) });

/** Query of `GET /keys`. Without a workspace, lists all keys that the account pays for. */
export const keyListQuerySchema = z.strictObject({ workspace_id: z.uuid().optional(), ...listPageFields });
