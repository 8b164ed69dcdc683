import { preferredModel } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { allKeys, createKey, keysQuery } from '../../api/keys.ts';
import { balanceQuery, billingCatalogQuery, modelsQuery } from '../../api/queries.ts';
import { newestRequestQuery, type UsageRow, usageQueryKey } from '../../api/usage.ts';
import { useChange } from '../../api/use-change.ts';
import { formatCount, formatExactUsd } from '../../format/format.ts';
import { isForPrograms, tabKeyOf, useTabKey } from '../../inference-key/tab-key.ts';
import { isOffered } from '../../models/model-options.ts';
import { keyPlaceholder } from '../../snippets/snippets.ts';
import { Button, buttonClass, linkClass } from '../../ui/button.tsx';
import { CopyLine } from '../../ui/copy.tsx';
import { LinkCard } from '../../ui/link-card.tsx';
import { Card, ErrorLine, ErrorState, Notice, Page, PagePending } from '../../ui/surface.tsx';
import { EmptyBalanceNotice, useWorkspace } from '../../workspaces/workspaces.tsx';
import { FirstRequestSnippets } from '../guides/first-request-snippets.tsx';
import { mayMakeKeys } from '../keys/key-rules.ts';

interface NewKey {
  readonly id: string;
  readonly secret: string;
}

/** `/first-steps`: the same steps again, for another key or tool. */
export function FirstStepsPage() {
  const { workspace } = useWorkspace();
  const navigate = useNavigate();
  return workspace === undefined ? (
    <PagePending />
  ) : (
    <FirstSteps key={workspace.id} onOverview={() => void navigate({ to: '/' })} />
  );
}

/** From nothing to a first answer: funds, a key, a request that works as it stands, and where to go on. */
export function FirstSteps({ onOverview }: { onOverview: () => void }) {
  const { workspace } = useWorkspace();
  // The key stays in this tab, so that it is not lost on another page and the playground uses it, too.
  const [tabKey, setTabKey] = useTabKey(workspace?.id ?? '');
  const { data: keys } = useQuery({ ...keysQuery(workspace?.id), enabled: workspace !== undefined });
  const isRevoked = keys?.some(({ id, revoked_at }) => id === tabKey?.made?.id && revoked_at !== null) === true;
  useEffect(() => {
    if (isRevoked) setTabKey(undefined);
  });
  const key =
    tabKey?.made && isForPrograms(tabKey) && !isRevoked ? { id: tabKey.made.id, secret: tabKey.key } : undefined;
  const needsFunds = useNeedsFunds();
  const first = needsFunds ? 2 : 1;
  return (
    <Page
      title="First steps"
      lead={needsFunds ? 'Add funds, create a key, send a request.' : 'Create a key, send a request, see its cost.'}
      actions={
        <Link to="/playground" className={buttonClass('plain', true)}>
          Try a model in the browser first
        </Link>
      }
    >
      {needsFunds ? <FundsStep /> : <EmptyBalanceNotice workspace={workspace} />}
      <KeyStep title={`${first}. Your key`} shownKey={key?.secret} onMade={(made) => setTabKey(tabKeyOf(made))} />
      <RequestStep title={`${first + 1}. Your first request`} givenKey={key} onOverview={onOverview} />
      <Card title={`${first + 2}. Look around`}>
        <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
          <LinkCard
            to="/playground"
            title="Playground"
            text="Try models in the browser, with the verdict next to the answer."
          />
          <LinkCard
            to="/routing"
            title="Routing"
            text="Set privacy, providers and prices, and preview which routes are used."
          />
          <LinkCard to="/usage" title="Usage" text="Requests and cost by model, key and provider." />
          <LinkCard to="/verify" title="Verify" text="Check which machine reads your content." />
        </ul>
        <p className="mt-4 text-sm text-muted">
          <Link to="/reference" className={linkClass}>
            API reference
          </Link>
        </p>
      </Card>
    </Page>
  );
}

/** Whether requests are rejected until the reader pays: their balance is empty and pays for this workspace. */
function useNeedsFunds(): boolean {
  const { workspace } = useWorkspace();
  const { data: balance } = useQuery(balanceQuery);
  const { data: catalog } = useQuery(billingCatalogQuery);
  const { data: models = [] } = useQuery(modelsQuery);
  const model = preferredModel(models.filter((one) => one.model_type === 'text' && isOffered(one)));
  const isFree = model?.pricing != null && Object.values(model.pricing).every((price) => price === 0);
  return (
    workspace?.role === 'owner' &&
    balance !== undefined &&
    balance.available <= 0 &&
    catalog?.mode === 'prepaid' &&
    !isFree
  );
}

function FundsStep() {
  return (
    <Card
      title="1. Add funds"
      lead="Your balance is empty, so requests are rejected. It is prepaid: nothing is charged later."
    >
      <Link to="/billing" className={buttonClass('primary')}>
        Add funds
      </Link>
    </Card>
  );
}

interface KeyStepProps {
  readonly title: string;
  readonly shownKey: string | undefined;
  readonly onMade: (made: Awaited<ReturnType<typeof createKey>>) => void;
}

function KeyStep({ title, shownKey, onMade }: KeyStepProps) {
  const { workspace } = useWorkspace();
  const making = useChange({
    mutationFn: () => createKey({ name: 'First key', kind: 'inference', workspace_id: workspace?.id }),
    refreshes: allKeys,
    answersSecret: true,
    onSuccess: onMade,
  });
  return (
    <Card title={title} lead="It can send requests, but cannot view or change your account.">
      {workspace !== undefined && !mayMakeKeys(workspace.role) ? (
        <p>
          Your role in {workspace.name} is {workspace.role}, which cannot create keys. Ask an admin, or choose another
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
            Create key
          </Button>
          <Link to="/keys" className={linkClass}>
            Your keys
          </Link>
        </div>
      ) : (
        <Notice tone="good">
          <p className="mb-2 font-medium">Copy it now: it is not shown again once you close this tab.</p>
          <CopyLine text={shownKey} label="Copy key" testId="new-key" />
        </Notice>
      )}
      <ErrorLine error={making.error} className="mt-3" />
    </Card>
  );
}

interface RequestStepProps {
  readonly title: string;
  readonly givenKey: NewKey | undefined;
  readonly onOverview: () => void;
}

function RequestStep({ title, givenKey, onOverview }: RequestStepProps) {
  const { error, refetch } = useQuery(modelsQuery);
  const { workspace } = useWorkspace();
  return (
    <Card
      title={title}
      lead={
        givenKey === undefined
          ? `Replace ${keyPlaceholder} with your key, or create one above to fill it in.`
          : 'Your key is filled in. You can run these as they are.'
      }
    >
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      <FirstRequestSnippets />
      {workspace !== undefined && mayMakeKeys(workspace.role) && (
        <FirstRequest workspaceId={workspace.id} keyId={givenKey?.id} onOverview={onOverview} />
      )}
    </Card>
  );
}

const pollMs = 2_000;
/** After this many polls, some minutes, the page asks less often. */
const quickPolls = 150;

interface FirstRequestProps {
  readonly workspaceId: string;
  /** The key that was created on this page: then its first request is awaited, else the workspace's next one. */
  readonly keyId: string | undefined;
  readonly onOverview: () => void;
}

/** Waits for a request and shows what it cost. */
function FirstRequest({ workspaceId, keyId, onOverview }: FirstRequestProps) {
  const client = useQueryClient();
  /** The newest request when this page was opened; null if there was none. */
  const [before, setBefore] = useState<string | null>();
  const isNew = (row: UsageRow | null | undefined): row is UsageRow =>
    row != null && (keyId !== undefined || (before !== undefined && row.id !== before));
  const { data: newest } = useQuery({
    ...newestRequestQuery({ workspace_id: workspaceId, key_id: keyId }),
    staleTime: 0,
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      isNew(data) ? false : dataUpdateCount < quickPolls ? pollMs : 5 * pollMs,
  });
  if (keyId === undefined && before === undefined && newest !== undefined) setBefore(newest?.id ?? null);
  return (
    <div
      role="status"
      className="mt-4 flex min-h-16 flex-wrap items-center justify-between gap-3 rounded-xl border border-line px-4 py-3"
    >
      {isNew(newest) ? (
        <>
          <Received row={newest} />
          <Button
            look="primary"
            onClick={() => {
              void client.invalidateQueries({ queryKey: usageQueryKey });
              onOverview();
            }}
          >
            See your overview
          </Button>
        </>
      ) : (
        <div>
          <p className="flex items-center gap-2.5 font-medium">
            <span aria-hidden className="size-2.5 shrink-0 animate-pulse rounded-full bg-accent" />
            {keyId === undefined && before != null
              ? 'Waiting for your next request…'
              : 'Waiting for your first request…'}
          </p>
          <p className="text-sm text-muted">
            It shows here by itself, seconds after it ends. Rejected requests do not appear: read the error that they
            printed.
          </p>
        </div>
      )}
    </div>
  );
}

function Received({ row }: { row: UsageRow }) {
  const tokens = row.prompt_tokens + row.completion_tokens;
  return (
    <div className="min-w-0">
      <p className="font-medium text-good">Received, {formatExactUsd(row.cost)}</p>
      <p className="text-sm wrap-anywhere text-muted">
        {row.status === 'completed' ? '' : `It ${row.status === 'failed' ? 'failed' : 'was cancelled'}. `}
        {row.model}
        {row.provider === null ? '' : ` at ${row.provider}`}, {formatCount(tokens)} tokens. Control knows this and the
        key, never the content. In compatibility mode, the broker saw key and content together.
      </p>
    </div>
  );
}
