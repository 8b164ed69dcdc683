import type { AlertWebhookAnswer, NewAlertWebhookAnswer, WebhookDelivery } from '@sotto/contract/control/alerts';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Send, Trash2 } from 'lucide-react';
import { webhookQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import { signInMethodsQuery } from '../../session/session.ts';
import { asking } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import { type Secret, SecretDialog } from '../../ui/secret-dialog.tsx';
import { Card, ErrorLine, Notice } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant, Truncated } from '../../ui/text.tsx';

/** How the members learn that a budget is passed, and the webhook that admins set. */
export function AlertsCard({ workspace, manages }: { workspace: WorkspaceAnswer; manages: boolean }) {
  const { data: methods } = useQuery(signInMethodsQuery);
  const isMailed = methods?.mail !== 'none';
  return (
    <Card
      title="Alerts"
      lead={
        isMailed
          ? 'At 50, 80 and 100% of a budget, the owner and the admins get a mail. So does the member whose budget or key it is.'
          : 'This service sends no mail. A webhook can tell you when a budget passes 50, 80 and 100%.'
      }
    >
      {manages && <WebhookSettings workspace={workspace} />}
    </Card>
  );
}

type Webhook = NonNullable<AlertWebhookAnswer['webhook']>;

const columns: readonly Column<Webhook>[] = [
  { title: 'URL', heading: true, cell: ({ url }) => <Truncated text={url} className="font-mono md:max-w-lg" /> },
  { title: 'Set', cell: ({ created_at }) => <Instant at={created_at} /> },
];

function WebhookSettings({ workspace }: { workspace: WorkspaceAnswer }) {
  const params = { id: workspace.id };
  const stored = webhookQuery(workspace.id);
  const webhooks = useQuery({ ...stored, select: (webhook) => (webhook === null ? [] : [webhook]) });
  const testing = useChange({ mutationFn: () => call('POST /v1/workspaces/{id}/webhook/test', { params }) });
  const dialog = (onClose: () => void) => (
    <WebhookDialog workspace={workspace} url={webhooks.data?.[0]?.url} onClose={onClose} onSet={testing.reset} />
  );
  return (
    <Resource
      query={webhooks}
      loading="The webhook is loading"
      lines={2}
      page={(list, create) => (
        <div className="space-y-3">
          <h3 className="text-sm font-medium">Webhook</h3>
          {list}
          {webhooks.data?.length === 0 && create}
          <ErrorLine error={testing.error} className="text-sm" />
          {testing.data !== undefined && !testing.isPending && (
            <Notice tone={testing.data.outcome === 'delivered' ? 'good' : 'warn'}>{outcomeWords(testing.data)}</Notice>
          )}
        </div>
      )}
      empty="A server of yours can receive each alert as a signed event, for example to post it in a chat."
      create={{ action: 'Set up webhook', look: 'plain', dialog }}
      rows={(rows) => (
        <Rows
          caption="Webhook"
          columns={columns}
          rows={rows}
          rowKey={({ url }) => url}
          nameOf={() => 'the webhook'}
          actions={() => [
            { label: 'Send test event', icon: Send, does: () => testing.mutate() },
            { label: 'Change', icon: Pencil, does: { dialog } },
            {
              label: 'Remove',
              icon: Trash2,
              danger: true,
              does: asking({
                title: 'Remove the webhook?',
                consequence: 'The server gets no more alerts, and the signing secret is deleted.',
                action: 'Remove',
                change: {
                  mutationFn: () => call('DELETE /v1/workspaces/{id}/webhook', { params }),
                  refreshes: stored,
                  onSuccess: testing.reset,
                  says: 'The webhook is removed.',
                },
              }),
            },
          ]}
        />
      )}
    />
  );
}

const outcomeWords = ({ outcome, status }: WebhookDelivery): string =>
  ({
    delivered: `Delivered: the server answered ${status}.`,
    refused: `The server answered ${status}. It must answer with a status from 200 to 299.`,
    redirected: `The server answered ${status}, a redirect, which is not followed. Enter the final URL.`,
    timeout: 'The server did not answer within five seconds.',
    unreachable: 'The server cannot be reached, or its certificate is not valid.',
    address_not_public: 'The URL does not lead to a public address. Ask your operator if private ones may be allowed.',
  })[outcome];

interface WebhookDialogProps {
  readonly workspace: WorkspaceAnswer;
  readonly url: string | undefined;
  readonly onClose: () => void;
  readonly onSet: () => void;
}

/** Asks for the URL, then shows the signing secret once. */
function WebhookDialog({ workspace, url, onClose, onSet }: WebhookDialogProps) {
  const form = useForm('PUT /v1/workspaces/{id}/webhook', {
    params: { id: workspace.id },
    start: { url },
    refreshes: webhookQuery(workspace.id),
    onSuccess: onSet,
  });
  const isNew = url === undefined;
  return (
    <SecretDialog
      form={form}
      title={isNew ? 'Set up a webhook' : 'Change the webhook'}
      action={isNew ? 'Set webhook' : 'Set with a new secret'}
      secret={form.change.data && secretOf(form.change.data)}
      onClose={onClose}
    >
      <TextField
        {...form.text('url')}
        label="URL"
        hint={
          isNew
            ? 'https, at a public address. It gets the budget’s id, the percent and the month.'
            : 'The present signing secret stops working at once.'
        }
        placeholder="https://hooks.example.com/sotto"
        inputMode="url"
      />
    </SecretDialog>
  );
}

const secretOf = ({ secret }: NewAlertWebhookAnswer): Secret => ({
  title: 'The webhook is set',
  description: 'Save its signing secret. It is shown only now.',
  noun: 'secret',
  text: secret,
  note: 'With it, your server verifies that an event is from here, by any library for Standard Webhooks.',
});
