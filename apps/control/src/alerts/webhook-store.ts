import { randomBytes } from 'node:crypto';
import type {
  AlertWebhookAnswer,
  NewAlertWebhookAnswer,
  SetAlertWebhook,
  WebhookFormat,
} from '@sotto/contract/control/alerts';
import type pg from 'pg';
import * as z from 'zod';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { Refused, refused } from '../database/refused.ts';
import type { workspaceWebhooks } from '../database/workspace-schema.ts';
import type { Sealing } from '../sessions/session-secrets.ts';
import { accessWorkspace, inWorkspace, type NoAccess } from '../workspaces/workspace-access.ts';
import type { InWorkspace } from '../workspaces/workspace-store.ts';

/** Where a workspace receives events, and the secret that signs them. */
export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

export interface WebhookStore {
  readonly pool: pg.Pool;
  readonly sealing: Sealing;
}

export const webhookPurpose = 'sotto workspaces: webhooks';

const webhookSchema = z.strictObject({ url: z.string(), secret: z.string() });
type Row = SqlRow<typeof workspaceWebhooks, 'sealed' | 'format' | 'created_at'>;

interface StoredWebhook extends Webhook {
  readonly format: WebhookFormat;
  readonly createdAt: Date;
}

/** Returns a workspace’s webhook. One that `SESSION_SECRET` cannot decrypt, because the secret was replaced, counts as none. */
export async function findWebhook(
  { pool, sealing }: WebhookStore,
  workspaceId: string,
): Promise<StoredWebhook | undefined> {
  const { rows } = await pool.query<Row>(
    'select sealed, format, created_at from workspace_webhooks where workspace_id = $1',
    [workspaceId],
  );
  const [row] = rows;
  const text = row && sealing.open(row.sealed);
  if (row === undefined || text === undefined) return undefined;
  return { ...webhookSchema.parse(JSON.parse(text)), format: row.format, createdAt: row.created_at };
}

export async function readWebhook(
  store: WebhookStore,
  caller: InWorkspace,
): Promise<AlertWebhookAnswer | Refused<NoAccess>> {
  const workspace = await accessWorkspace(store.pool, { ...caller, action: 'setBudgets' });
  if (workspace instanceof Refused) return workspace;
  const found = await findWebhook(store, workspace.id);
  return {
    webhook:
      found === undefined ? null : { url: found.url, format: found.format, created_at: found.createdAt.toISOString() },
  };
}

/** Sets a workspace’s webhook, with a new secret. */
export async function setWebhook(
  { pool, sealing }: WebhookStore,
  caller: InWorkspace,
  { url, format }: SetAlertWebhook,
): Promise<NewAlertWebhookAnswer | Refused<NoAccess>> {
  return inWorkspace(pool, { ...caller, action: 'setBudgets' }, async (client, workspace) => {
    const { id: workspaceId } = workspace;
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const { rows } = await client.query<Pick<Row, 'created_at'>>(
      `insert into workspace_webhooks (workspace_id, sealed, format) values ($1, $2, $3)
       on conflict (workspace_id) do update
         set sealed = excluded.sealed, format = excluded.format, created_at = excluded.created_at
       returning created_at`,
      [workspaceId, sealing.seal(JSON.stringify({ url, secret } satisfies Webhook)), format],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the webhook was not set');
    await recordAct(client, { actor: byAccount(caller.accountId), act: 'webhook_set', workspaceId });
    return { url, format, created_at: row.created_at.toISOString(), secret };
  });
}

export async function removeWebhook(
  { pool }: WebhookStore,
  caller: InWorkspace,
): Promise<Refused<NoAccess | { readonly why: 'no_webhook' }> | undefined> {
  return inWorkspace(pool, { ...caller, action: 'setBudgets' }, async (client, workspace) => {
    const { id: workspaceId } = workspace;
    const removed = await client.query('delete from workspace_webhooks where workspace_id = $1', [workspaceId]);
    if (removed.rowCount === 0) return refused('no_webhook');
    await recordAct(client, { actor: byAccount(caller.accountId), act: 'webhook_removed', workspaceId });
    return undefined;
  });
}

/** Encrypts webhooks again that only the other secret of a rotation decrypts. */
export async function resealWebhooks({ pool, sealing }: WebhookStore): Promise<void> {
  const { rows } = await pool.query<SqlRow<typeof workspaceWebhooks, 'workspace_id' | 'sealed'>>(
    'select workspace_id, sealed from workspace_webhooks',
  );
  for (const { workspace_id: workspaceId, sealed } of rows) {
    const anew = sealing.reseal(sealed);
    if (anew === undefined) continue;
    await pool.query('update workspace_webhooks set sealed = $3 where workspace_id = $1 and sealed = $2', [
      workspaceId,
      sealed,
      anew,
    ]);
  }
}
