import { randomUUID } from 'node:crypto';
import { alertContracts } from '@sotto/contract/control/alerts';
import { repeat } from '@sotto/server';
import { monthOf } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import { orError } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import { oneLine } from '../mail/mail.ts';
import { type SessionSecrets, sealing } from '../sessions/session-secrets.ts';
import { accessErrors, requireWorkspace } from '../workspaces/require-workspace.ts';
import { AlertSender, type AlertSenderDependencies } from './alert-sender.ts';
import { deliveryIsDue, purgeAlerts, renewMs } from './delivery-store.ts';
import { eventBody } from './event-body.ts';
import { sendEvent } from './send-event.ts';
import {
  findWebhook,
  readWebhook,
  removeWebhook,
  resealWebhooks,
  setWebhook,
  type WebhookStore,
  webhookPurpose,
} from './webhook-store.ts';

export interface AlertsDependencies extends Omit<AlertSenderDependencies, 'webhooks' | 'onFailed'> {
  readonly sessionSecrets: SessionSecrets;
}

const sendMs = 2_000;
const resealMs = 60_000;
const purgeMs = 3_600_000;

/** Serves the webhooks of workspaces, and sends alerts of budgets to them and by mail. */
export function buildAlerts({ sessionSecrets, ...deps }: AlertsDependencies): Domain {
  const { pool, network, now } = deps;
  const webhooks: WebhookStore = { pool, sealing: sealing(sessionSecrets, webhookPurpose) };
  return {
    register: ({ serve }) =>
      serve(alertContracts)({
        'GET /v1/workspaces/{id}/webhook': async ({ caller: { accountId }, params }) =>
          orError(await readWebhook(webhooks, { accountId, workspaceId: params.id }), accessErrors),

        'PUT /v1/workspaces/{id}/webhook': async ({ caller: { accountId }, params, body }) =>
          orError(await setWebhook(webhooks, { accountId, workspaceId: params.id }, body), accessErrors),

        'DELETE /v1/workspaces/{id}/webhook': async ({ caller: { accountId }, params }) =>
          orError(await removeWebhook(webhooks, { accountId, workspaceId: params.id }), {
            ...accessErrors,
            no_webhook: noWebhook,
          }),

        'POST /v1/workspaces/{id}/webhook/test': async ({ caller: { accountId }, params }) => {
          const of = { accountId, workspaceId: params.id, action: 'setBudgets' } as const;
          const { id, name } = await requireWorkspace(pool, of);
          const webhook = await findWebhook(webhooks, id);
          if (webhook === undefined) throw noWebhook();
          const body = eventBody(
            {
              type: 'budget.alert.test',
              text: `This is a test of the webhook of the workspace "${oneLine(name)}". Its alerts of budgets come here.`,
              workspace: { id, name },
              ...{ person: null, key: null, tag: null },
              budget: { id: randomUUID(), scope: 'workspace', limit_usd: 10, spent_usd: 8 },
              ...{ percent: 80, month: monthOf(now()), url: `${deps.origin}/budgets` },
            },
            webhook.format,
          );
          return sendEvent({ ...webhook, body, id: randomUUID() }, network, now());
        },
      }),
    tasks: (failed, due) => {
      const sender = new AlertSender({ ...deps, webhooks, onFailed: failed('alerts') });
      return [
        due.when({ question: deliveryIsDue, everyMs: sendMs }, () => sender.send(), failed('alerts')),
        repeat(renewMs, () => sender.renew(), failed('alerts')),
        { start: () => {}, stop: () => sender.ended() },
        repeat(resealMs, () => resealWebhooks(webhooks), failed('reseal webhooks')),
        repeat(purgeMs, () => purgeAlerts(pool, now()), failed('purge alerts')),
      ];
    },
  };
}

const noWebhook = (): ServiceError => new ServiceError('not_found', { message: 'This workspace has no webhook.' });
