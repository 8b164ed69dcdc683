import type {
  AlertWebhookAnswer,
  NewAlertWebhookAnswer,
  WebhookDelivery,
  WebhookFormat,
} from '@sotto/contract/control/alerts';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Send, Trash2 } from 'lucide-react';
import { webhookQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import { signInMethodsQuery } from '../../session/session.ts';
import { asking } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
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
          ? 'At the percents above, and when a budget refuses the first request of a month, the owner and the admins get a mail. So does the member whose budget or key it is.'
          : 'This service sends no mail. A webhook can tell you when a budget passes the percents above, or refuses the first request of a month.'
      }
    >
      {manages && <WebhookSettings workspace={workspace} />}
    </Card>
  );
}

type Webhook = NonNullable<AlertWebhookAnswer['webhook']>;

const formatNames: Readonly<Record<WebhookFormat, string>> = { json: 'JSON', slack: 'Slack', teams: 'Teams' };

const columns: readonly Column<Webhook>[] = [
  { title: 'URL', heading: true, cell: ({ url }) => <Truncated text={url} className="font-mono md:max-w-lg" /> },
  { title: 'Format', cell: ({ format }) => formatNames[format] },
  { title: 'Set', cell: ({ created_at }) => <Instant at={created_at} /> },
];

function WebhookSettings({ workspace }: { workspace: WorkspaceAnswer }) {
  const params = { id: workspace.id };
  const stored = webhookQuery(workspace.id);
  const webhooks = useQuery({ ...stored, select: (webhook) => (webhook === null ? [] : [webhook]) });
  const testing = useChange({ mutationFn: () => call('POST /v1/workspaces/{id}/webhook/test', { params }) });
  const dialog = (onClose: () => void) => (
    <WebhookDialog workspace={workspace} webhook={webhooks.data?.[0]} onClose={onClose} onSet={testing.reset} />
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
  readonly webhook: Webhook | undefined;
  readonly onClose: () => void;
  readonly onSet: () => void;
}

/** Asks for the URL, then shows the signing secret once. */
function WebhookDialog({ workspace, webhook, onClose, onSet }: WebhookDialogProps) {
  const form = useForm('PUT /v1/workspaces/{id}/webhook', {
    params: { id: workspace.id },
    start: { url: webhook?.url, format: webhook?.format ?? 'json' },
    refreshes: webhookQuery(workspace.id),
    answersSecret: true,
    onSuccess: onSet,
  });
  const isNew = webhook === undefined;
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
            ? 'https, at a public address. It gets the workspace, the member, what is spent and the limit.'
            : 'The present signing secret stops working at once.'
        }
        placeholder="https://hooks.example.com/sotto"
        inputMode="url"
      />
      <SelectField
        {...form.choice('format')}
        label="Format"
        hint="Slack: the URL of an incoming webhook. Teams: the URL of a flow for webhook requests."
        choices={(Object.keys(formatNames) as WebhookFormat[]).map((value) => ({ value, label: formatNames[value] }))}
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
