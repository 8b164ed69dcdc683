import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react';
import { budgetsQuery } from '../../api/budgets.ts';
import { keysQuery } from '../../api/keys.ts';
import { accountQuery, balanceQuery, billingCatalogQuery, measurementsQuery, membersQuery } from '../../api/queries.ts';
import { signInMethodsQuery, useSignedIn } from '../../session/session.ts';
import { linkClass } from '../../ui/button.tsx';
import { Card } from '../../ui/surface.tsx';
import { billingSettingsQuery, monthlyGrantQuery } from '../billing/billing.ts';
import { type Concern, concernsOf, type Funds } from './attention.ts';
import { homeSums } from './home-queries.ts';
import { dailyRate, daysLeft, type Ends } from './overview-figures.ts';

/** The balance that pays for a workspace, for its owner. Undefined for others, and until it is loaded. */
export function useFunds({ id, role }: WorkspaceAnswer): Funds | undefined {
  const enabled = role === 'owner';
  const { data: balance } = useQuery({ ...balanceQuery, enabled });
  const { data: catalog } = useQuery({ ...billingCatalogQuery, enabled });
  const isGrant = catalog?.mode === 'none';
  const grant = useQuery({ ...monthlyGrantQuery, enabled: enabled && isGrant });
  const settings = useQuery({ ...billingSettingsQuery, enabled: enabled && catalog?.mode === 'prepaid' });
  // The balance pays for every workspace of the account.
  const { data: week } = useQuery({ ...homeSums(id, Date.now()).week, enabled });
  if (balance === undefined || week === undefined || (isGrant ? grant : settings).isPending) return undefined;
  return {
    availableUsd: balance.available,
    daysLeft: daysLeft(balance.available, dailyRate(week.data, Date.now())),
    isLow: settings.data?.low_balance === true,
    topUpProblem: settings.data?.auto_top_up_state.paused?.message,
    renewsAt: grant.data?.renews_at,
  };
}

interface AttentionCardProps {
  readonly workspace: WorkspaceAnswer;
  readonly funds: Funds | undefined;
  /** The models in use, the most used first; undefined until they are known. */
  readonly models: readonly string[] | undefined;
  readonly ends: Ends;
}

/** A line for each thing that needs attention, or a sentence that nothing does. */
export function AttentionCard({ workspace, funds, models, ends }: AttentionCardProps) {
  const user = useSignedIn();
  const methods = useQuery(signInMethodsQuery);
  const account = useQuery(accountQuery);
  const budgets = useQuery(budgetsQuery(workspace.id));
  const keys = useQuery(keysQuery(workspace.id));
  const members = useQuery(membersQuery(workspace.id));
  const measurements = useQuery(measurementsQuery);
  // A sentence that all is well would be wrong while something is unknown.
  const isKnown =
    (workspace.role !== 'owner' || funds !== undefined) &&
    models !== undefined &&
    [methods, account, budgets, keys, members].every(({ data }) => data !== undefined) &&
    !measurements.isPending;
  const concerns = concernsOf({
    now: Date.now(),
    role: workspace.role,
    ownAccountId: keys.data === undefined ? undefined : account.data?.id,
    funds,
    budgets: budgets.data ?? [],
    keys: keys.data ?? [],
    names: {
      members: members.data && new Map(members.data.map(({ account_id, email }) => [account_id, email ?? 'a member'])),
      keys: keys.data && new Map(keys.data.map(({ id, name }) => [id, name])),
    },
    isUnconfirmed: user?.emailVerified === false && methods.data !== undefined && methods.data.mail !== 'none',
    ends,
    measured: (models ?? []).map((model) => ({ model, routes: measurements.data?.get(model) ?? [] })),
  });
  if (concerns.length === 0 && !isKnown) return null;
  return (
    <Card>
      <h2 className="sr-only">Needs attention</h2>
      {concerns.length === 0 ? (
        <p className="flex items-center gap-3">
          <CircleCheck aria-hidden className="size-5 shrink-0 text-good" />
          Nothing needs your attention.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {concerns.map((concern) => (
            <ConcernLine key={concern.id} concern={concern} />
          ))}
        </ul>
      )}
    </Card>
  );
}

const icons = {
  danger: <CircleAlert aria-label="Urgent:" className="mt-0.5 size-5 shrink-0 text-danger" />,
  warn: <TriangleAlert aria-label="Warning:" className="mt-0.5 size-5 shrink-0 text-warn" />,
  info: <Info aria-label="Note:" className="mt-0.5 size-5 shrink-0 text-info" />,
};

function ConcernLine({ concern: { tone, text, action, to, model } }: { concern: Concern }) {
  return (
    <li className="flex gap-3 py-2.5 first:pt-0 last:pb-0">
      {icons[tone]}
      <span className="flex min-w-0 flex-1 flex-wrap justify-between gap-x-6">
        <span className="min-w-0 wrap-anywhere">{text}</span>
        {to === '/usage' ? (
          <Link to={to} search={{ view: 'requests', range: '7d', status: 'failed' }} className={linkClass}>
            {action}
          </Link>
        ) : model === undefined ? (
          <Link to={to} className={linkClass}>
            {action}
          </Link>
        ) : (
          <Link to="/models/$" params={{ _splat: model }} className={linkClass}>
            {action}
          </Link>
        )}
      </span>
    </li>
  );
}
