import type { AlertWebhookAnswer, WebhookDelivery } from '@sotto/contract/control/alerts';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { webhookQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { errorAt } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { signInMethodsQuery } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ConfirmChange, Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/change-form.tsx';
import { Card, ErrorLine, Loaded, Notice } from '../../ui/surface.tsx';
import { Instant } from '../../ui/text.tsx';

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
      {manages && <Webhook workspace={workspace} />}
    </Card>
  );
}

function Webhook({ workspace }: { workspace: WorkspaceAnswer }) {
  return (
    <Loaded query={useQuery(webhookQuery(workspace.id))} label="The webhook is loading" lines={2}>
      {(webhook) => <WebhookSettings workspace={workspace} webhook={webhook} />}
    </Loaded>
  );
}

interface WebhookSettingsProps {
  readonly workspace: WorkspaceAnswer;
  readonly webhook: AlertWebhookAnswer['webhook'];
}

function WebhookSettings({ workspace, webhook }: WebhookSettingsProps) {
  const params = { id: workspace.id };
  const [action, setAction] = useState<'set' | 'remove'>();
  const testing = useChange({ mutationFn: () => call('POST /v1/workspaces/{id}/webhook/test', { params }) });
  const close = () => setAction(undefined);
  return (
    <div className="space-y-3">
      <h3 className="text-sm font-medium">Webhook</h3>
      {webhook === null ? (
        <p className="text-sm text-muted">
          A server of yours can receive each alert as a signed event, for example to post it in a chat.
        </p>
      ) : (
        <p className="min-w-0 text-sm">
          <span title={webhook.url} className="block truncate font-mono">
            {webhook.url}
          </span>
          <span className="text-muted">
            set <Instant at={webhook.created_at} />
          </span>
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {webhook !== null && (
          <Button busy={testing.isPending} onClick={() => testing.mutate()}>
            Send test event
          </Button>
        )}
        <Button onClick={() => setAction('set')}>{webhook === null ? 'Set up webhook' : 'Change…'}</Button>
        {webhook !== null && (
          <Button look="danger" onClick={() => setAction('remove')}>
            Remove…
          </Button>
        )}
      </div>
      <ErrorLine error={testing.error} className="text-sm" />
      {testing.data !== undefined && !testing.isPending && (
        <Notice tone={testing.data.outcome === 'delivered' ? 'good' : 'warn'}>{outcomeWords(testing.data)}</Notice>
      )}
      {action === 'set' && (
        <WebhookDialog workspace={workspace} url={webhook?.url} onClose={close} onSet={testing.reset} />
      )}
      {action === 'remove' && (
        <ConfirmChange
          onClose={close}
          title="Remove the webhook?"
          consequence="The server gets no more alerts, and the signing secret is deleted."
          action="Remove"
          change={{
            mutationFn: () => call('DELETE /v1/workspaces/{id}/webhook', { params }),
            refreshes: webhookQuery(workspace.id),
            onSuccess: testing.reset,
            says: 'The webhook is removed.',
          }}
        />
      )}
    </div>
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
  const setting = useChange({
    mutationFn: (typed: string) =>
      call('PUT /v1/workspaces/{id}/webhook', { params: { id: workspace.id }, body: { url: typed.trim() } }),
    gcTime: 0,
    refreshes: webhookQuery(workspace.id),
    onSuccess: onSet,
  });
  const close = () => !setting.isPending && onClose();
  const made = setting.data;
  if (made !== undefined) {
    return (
      <Dialog onClose={close} title="The webhook is set">
        <div className="space-y-4">
          <CodeBlock label="Signing secret" code={made.secret} />
          <Notice tone="warn">
            Save the secret now: it is not shown again. With it, your server verifies that an event is from here, by any
            library for Standard Webhooks.
          </Notice>
          <div className="flex justify-end">
            <Button look="primary" onClick={close}>
              I saved it
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog onClose={close} title={url === undefined ? 'Set up a webhook' : 'Change the webhook'}>
      <Form
        change={setting}
        errors={['url']}
        action={url === undefined ? 'Set webhook' : 'Set with a new secret'}
        className="space-y-5"
        onSubmit={(field) => setting.mutate(field('url'))}
        onCancel={close}
        noValidate
      >
        <TextField
          label="URL"
          name="url"
          hint={
            url === undefined
              ? 'https, at a public address. It gets the budget’s id, the percent and the month.'
              : 'The present signing secret stops working at once.'
          }
          error={errorAt(setting.error, 'url')}
          defaultValue={url}
          placeholder="https://hooks.example.com/sotto"
          inputMode="url"
          autoComplete="off"
          required
        />
      </Form>
    </Dialog>
  );
}
