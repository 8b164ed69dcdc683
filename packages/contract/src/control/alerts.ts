import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { instant } from '../fields.ts';

const format = z.enum(['json', 'slack', 'teams']);
export type WebhookFormat = z.infer<typeof format>;

/** Where the budget alerts of a workspace are sent. */
const webhookSchema = z.strictObject({ url: z.string(), format, created_at: instant });

export const alertWebhookAnswerSchema = z.strictObject({ webhook: webhookSchema.nullable() });
export type AlertWebhookAnswer = z.infer<typeof alertWebhookAnswerSchema>;

/** Answer of `PUT /workspaces/:id/webhook`, the only one that has the signing secret. */
export const newAlertWebhookAnswerSchema = webhookSchema.extend({ secret: z.string() });
export type NewAlertWebhookAnswer = z.infer<typeof newAlertWebhookAnswerSchema>;

/** Body of `PUT /workspaces/:id/webhook`. The service sends there only by https, to public addresses. */
export const setAlertWebhookSchema = z.strictObject({
  url: z
    .string()
    .max(2000)
    .refine(isWebhookUrl, {
      error: 'must be a URL such as https://hooks.example.com/sotto, without a user name, a password or a fragment',
    })
    .describe('https, leading to a public address. Redirects are not followed.'),
  format: format
    .default('json')
    .describe(
      'The body of an event: all its fields (`json`), or a message for an incoming webhook of Slack or for a flow of Teams. Default: `json`.',
    ),
});
export type SetAlertWebhook = z.infer<typeof setAlertWebhookSchema>;

function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '' && !text.includes('#');
}

/** The result of sending an event to a webhook. */
export const webhookDeliverySchema = z.strictObject({
  outcome: z
    .enum(['delivered', 'refused', 'redirected', 'timeout', 'unreachable', 'address_not_public'])
    .describe(
      '`refused`: the server answered with another status than 2xx. `unreachable`: no connection, or no valid certificate.',
    ),
  /** The status of the answer. Null: there was none. */
  status: z.number().nullable(),
  /** What the operator can do about an address that is not public. */
  message: z
    .string()
    .optional()
    .describe('Only with `address_not_public`: the setting with which the operator allows it.'),
});
export type WebhookDelivery = z.infer<typeof webhookDeliverySchema>;

const id = { note: 'The id of a workspace of which you are an admin.', id: 'workspace' } as const;

/** The webhook that receives the budget alerts of a workspace. */
export const alertContracts = contractsWith({ credentials: ['session'], params: { id } })({
  'GET /v1/workspaces/{id}/webhook': {
    operationId: 'getWebhook',
    summary: 'Get the webhook',
    answer: alertWebhookAnswerSchema,
    returns: 'The webhook or null, without its signing secret.',
  },
  'PUT /v1/workspaces/{id}/webhook': {
    operationId: 'setWebhook',
    summary: 'Set the webhook',
    description:
      'Sends budget alerts to an https URL with a public address, signed by the scheme of Standard Webhooks. Setting it again replaces the signing secret.',
    body: setAlertWebhookSchema,
    answer: newAlertWebhookAnswerSchema,
    returns: 'The webhook. Only this answer has its signing secret.',
    examples: { body: { url: 'https://hooks.example.com/sotto' } },
  },
  'DELETE /v1/workspaces/{id}/webhook': {
    operationId: 'removeWebhook',
    summary: 'Remove the webhook',
    status: 204,
    returns: 'The webhook is removed.',
  },
  'POST /v1/workspaces/{id}/webhook/test': {
    operationId: 'testWebhook',
    summary: 'Send a test event to the webhook',
    body: 'empty',
    answer: webhookDeliverySchema,
    returns: 'The result. The event has the form of an alert and the type `budget.alert.test`.',
    errors: ['not_found'],
    limit: 'outgoing',
  },
});
