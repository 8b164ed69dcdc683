import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';

const id = { note: 'The id of a workspace of which you are an admin.', id: 'workspace' } as const;

/** The webhook that receives the budget alerts of a workspace. */
export const alertContracts = contracts({
  'GET /v1/workspaces/{id}/webhook': {
    operationId: 'getWebhook',
    summary: 'Get the webhook',
    credentials: ['session'],
    params: { id },
    answer: wire.alertWebhookAnswerSchema,
    returns: 'The webhook or null, without its signing secret.',
  },
  'PUT /v1/workspaces/{id}/webhook': {
    operationId: 'setWebhook',
    summary: 'Set the webhook',
    description:
      'Sends budget alerts to an https URL with a public address, signed by the scheme of Standard Webhooks. Setting it again replaces the signing secret.',
    credentials: ['session'],
    params: { id },
    body: wire.setAlertWebhookSchema,
    answer: wire.newAlertWebhookAnswerSchema,
    returns: 'The webhook. Only this answer has its signing secret.',
    examples: { body: { url: 'https://hooks.example.com/sotto' } },
  },
  'DELETE /v1/workspaces/{id}/webhook': {
    operationId: 'removeWebhook',
    summary: 'Remove the webhook',
    credentials: ['session'],
    params: { id },
    status: 204,
    returns: 'The webhook is removed.',
  },
  'POST /v1/workspaces/{id}/webhook/test': {
    operationId: 'testWebhook',
    summary: 'Send a test event to the webhook',
    credentials: ['session'],
    params: { id },
    body: 'empty',
    answer: wire.webhookDeliverySchema,
    returns: 'The result. The event has the form of an alert and the type `budget.alert.test`.',
    errors: ['not_found'],
    limit: 'outgoing',
  },
});
