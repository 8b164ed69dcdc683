import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { createKey } from '../../api/keys.ts';
import { modelsQuery } from '../../api/models.ts';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { useChange } from '../../api/use-change.ts';
import { SnippetTabs } from '../../snippets/snippet-tabs.tsx';
import { makeSnippets } from '../../snippets/snippets.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Card, ErrorState, Notice, Page } from '../../ui/surface.tsx';
import { EmptyBalanceNotice } from '../../workspaces/empty-balance-notice.tsx';
import { useWorkspace } from '../../workspaces/workspaces.ts';
import { mayMakeKeys } from '../keys/key-rules.ts';

const keyPlaceholder = 'sotto_inf_YOUR_KEY';

/** From nothing to a first answer: a key, a request that works as it stands, and where to go on. */
export function FirstSteps() {
  const [key, setKey] = useState<string>();
  const { workspace } = useWorkspace();
  return (
    <Page title="First steps" lead="Make a key, send a request, see what it cost.">
      <EmptyBalanceNotice workspace={workspace} />
      <KeyStep shownKey={key} onMade={setKey} />
      <RequestStep givenKey={key} />
      <Card title="3. Look around">
        <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
          <NextStep
            to="/playground"
            title="Playground"
            text="Ask in the browser, with the verdict beside the answer."
          />
          <NextStep
            to="/routing"
            title="Routing"
            text="Set boundary, providers and prices, and see every route judged."
          />
          <NextStep to="/usage" title="Usage" text="What was asked for, by model, key and provider." />
          <NextStep to="/verify" title="Verify" text="Check by yourself which machine would read you." />
        </ul>
        <p className="mt-4 text-sm text-muted">
          Every endpoint, to read:{' '}
          <a href="/v1/docs" className="text-accent underline underline-offset-2">
            /v1/docs
          </a>
        </p>
      </Card>
    </Page>
  );
}

function KeyStep({ shownKey, onMade }: { shownKey: string | undefined; onMade: (key: string) => void }) {
  const { workspace } = useWorkspace();
  const client = useQueryClient();
  const making = useChange({
    mutationFn: () => createKey({ name: 'First key', kind: 'inference', workspace_id: workspace?.id }),
    onSuccess: ({ key }) => {
      onMade(key);
      void client.invalidateQueries({ queryKey: ['keys'] });
    },
  });
  return (
    <Card
      title="1. Your key"
      lead="It opens inference, and nothing of your account. It is shown once; make as many as you like."
    >
      {workspace !== undefined && !mayMakeKeys(workspace.role) ? (
        <p>
          Your role in {workspace.name} is {workspace.role}, which cannot make keys. Ask an admin, or choose another
          workspace above.
        </p>
      ) : shownKey === undefined ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button
            look="primary"
            busy={making.isPending}
            disabled={workspace === undefined}
            onClick={() => making.mutate()}
          >
            Make a key
          </Button>
          <Link to="/keys" className="text-accent underline underline-offset-2">
            Keys you have
          </Link>
        </div>
      ) : (
        <Notice tone="good">
          <p className="mb-2 font-medium">Copy it now: it is not shown again.</p>
          <div className="flex flex-wrap items-center gap-2">
            <code data-testid="new-key" className="min-w-0 font-mono text-sm break-all">
              {shownKey}
            </code>
            <CopyButton text={shownKey} label="Copy key" />
          </div>
        </Notice>
      )}
      {making.isError && (
        <p role="alert" className="mt-3 text-danger">
          {sentenceOf(making.error)}
        </p>
      )}
    </Card>
  );
}

function RequestStep({ givenKey }: { givenKey: string | undefined }) {
  const { data: models, error, refetch } = useQuery(modelsQuery);
  const model = (models ?? []).find(
    ({ model_type, provider_routes }) => model_type === 'text' && provider_routes.length > 0,
  );
  const snippets = makeSnippets({
    controlOrigin,
    confidentialOrigin,
    key: givenKey ?? keyPlaceholder,
    model: model?.id ?? '/auto',
  });
  return (
    <Card
      title="2. Your first request"
      lead={
        givenKey === undefined
          ? `Put your key where ${keyPlaceholder} stands, or make one above: it is filled in.`
          : 'Your key is filled in: these work as they stand.'
      }
    >
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      <SnippetTabs snippets={snippets} />
    </Card>
  );
}

function NextStep({ to, title, text }: { to: string; title: string; text: ReactNode }) {
  return (
    <li>
      <Link to={to} className="block h-full rounded-xl border border-line p-4 hover:border-accent hover:bg-accent-soft">
        <span className="font-medium">{title}</span>
        <span className="block text-sm text-muted">{text}</span>
      </Link>
    </li>
  );
}
