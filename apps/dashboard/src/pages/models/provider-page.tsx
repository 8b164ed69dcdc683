import type { ModelAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { measurementsQuery, modelsQuery } from '../../api/queries.ts';
import { formatCount, formatCountOf, formatHour, formatMs, formatShare } from '../../format/format.ts';
import { TierBadge, TierBadges, TierPromises } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { Card, EmptyState, ErrorState, Loaded, Notice, Page, TableLoading } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { measuredText } from '../../ui/text.tsx';
import { lowest, tiersOf } from './figures.ts';
import {
  type Incident,
  incidentBelow,
  incidentsOf,
  type MeasuredRoutes,
  measuredOf,
  mostWithHours,
  troubledAt,
  useUptimes,
} from './measured.ts';
import { ModelActions } from './model-actions.tsx';
import { ModelPrice } from './model-list.tsx';

const route = getRouteApi('/providers/$provider');

const routesAt = (provider: string, model: ModelAnswer) =>
  model.provider_routes.filter((one) => one.provider === provider);

/** `/providers/<id>`: what one provider serves, and how it did in the last 24 hours. */
export function ProviderPage() {
  const { provider } = route.useParams();
  const query = useQuery(modelsQuery);
  // Several providers that the operator does not name are all called `other`.
  const isNamed = provider !== 'other';
  const served = (query.data ?? []).filter((model) => isNamed && routesAt(provider, model).length > 0);
  return (
    <Page
      title={provider}
      lead="What this provider serves here, and how it did in the last 24 hours."
      actions={
        <Link to="/models" search={served.length > 0 ? { provider } : {}} className={linkClass}>
          {served.length > 0 ? 'Its models, with filters' : 'All models'}
        </Link>
      }
    >
      <Loaded query={query} label="The provider is loading" lines={8}>
        {() =>
          served.length === 0 ? (
            <EmptyState
              title="No such provider"
              text={
                isNamed
                  ? 'No model has a route to a provider with this id.'
                  : 'The operator does not name these providers, so they have no pages.'
              }
              action={
                <Link to="/models" className={linkClass}>
                  All models
                </Link>
              }
            />
          ) : (
            <Provider key={provider} provider={provider} served={served} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Provider({ provider, served }: { provider: string; served: readonly ModelAnswer[] }) {
  const query = useQuery(measurementsQuery);
  const known = query.data ?? new Map();
  const troubled = troubledAt(provider, known);
  const { uptimes, isPending, error, retry } = useUptimes(troubled.slice(0, mostWithHours));
  const routes = served.flatMap((model) => routesAt(provider, model));
  return (
    <>
      {query.error !== null && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {error !== null && <ErrorState error={error} onRetry={retry} />}
      <Card
        title="Incidents"
        lead={`Hours in which over ${formatShare(1 - incidentBelow)} of at least 20 requests failed. Measured on live requests, without content or accounts.`}
      >
        {query.isPending || isPending ? (
          <TableLoading label="Incidents are loading" columns={4} rows={2} />
        ) : (
          <Incidents incidents={incidentsOf(provider, uptimes)} isMeasured={isMeasured(provider, known)} />
        )}
        {troubled.length > mostWithHours && (
          <p className="mt-3 text-sm text-muted">{`Of the ${mostWithHours} models with the most failures only.`}</p>
        )}
      </Card>
      <Card title={formatCountOf(served.length, 'model')}>
        <Table
          caption={`Models at ${provider}`}
          columns={columnsFor(provider, known)}
          rows={served}
          rowKey={({ id }) => id}
          pageSize={50}
        />
        <TierPromises of={tiersOf(routes)} />
      </Card>
    </>
  );
}

const isMeasured = (provider: string, known: MeasuredRoutes): boolean =>
  [...known.values()].some((routes) => routes.some((one) => one.provider === provider));

const incidentColumns: readonly Column<Incident>[] = [
  {
    title: 'Model',
    heading: true,
    cell: ({ model }) => (
      <Link to="/models/$" params={{ _splat: model }} className={`${linkClass} break-all`}>
        {model}
      </Link>
    ),
  },
  { title: 'Tier', cell: ({ tier }) => <TierBadge tier={tier} /> },
  { title: 'When', cell: ({ from, to }) => `${formatHour(from)} to ${formatHour(endOf(to))}` },
  { title: 'Requests', numeric: true, cell: ({ requests }) => formatCount(requests) },
  { title: 'Success', numeric: true, cell: ({ successRate }) => formatShare(successRate) },
];

const endOf = (hour: string): string => new Date(Date.parse(hour) + 3_600_000).toISOString();

function Incidents({ incidents, isMeasured }: { incidents: readonly Incident[]; isMeasured: boolean }) {
  if (incidents.length > 0) {
    return (
      <Table
        caption="Incidents in the last 24 hours"
        columns={incidentColumns}
        rows={incidents}
        rowKey={({ model, tier, from }) => `${model} ${tier} ${from}`}
      />
    );
  }
  return isMeasured ? (
    <Notice tone="good">No incidents in the last 24 hours.</Notice>
  ) : (
    <p className="text-muted">No model had 20 requests, so nothing is known about the last 24 hours.</p>
  );
}

function columnsFor(provider: string, known: MeasuredRoutes): readonly Column<ModelAnswer>[] {
  const measured = (model: ModelAnswer) => measuredOf(known.get(model.id) ?? [], routesAt(provider, model));
  const price = (model: ModelAnswer, name: 'input' | 'output') => lowest(routesAt(provider, model), name);
  return [
    {
      title: 'Model',
      heading: true,
      sortBy: ({ name }) => name,
      cell: ({ id, name }) => (
        <Link to="/models/$" params={{ _splat: id }} className={`${linkClass} break-words`}>
          {name}
        </Link>
      ),
    },
    { title: 'Tiers', cell: (model) => <TierBadges of={tiersOf(routesAt(provider, model))} /> },
    ...(['input', 'output'] as const).map(
      (name): Column<ModelAnswer> => ({
        title: name === 'input' ? 'Input per M' : 'Output per M',
        numeric: true,
        sortBy: (model) => price(model, name) ?? Number.POSITIVE_INFINITY,
        cell: (model) => <ModelPrice type={model.model_type} routes={routesAt(provider, model)} side={name} />,
      }),
    ),
    {
      title: 'Success',
      numeric: true,
      sortBy: (model) => measured(model).successRate ?? -1,
      cell: (model) => measuredText(measured(model).successRate, formatShare),
    },
    {
      title: 'First token',
      numeric: true,
      sortBy: (model) => measured(model).firstTokenMs ?? Number.POSITIVE_INFINITY,
      cell: (model) => measuredText(measured(model).firstTokenMs, formatMs),
    },
    {
      title: 'Actions',
      hiddenTitle: true,
      cell: (model) => (
        <span className="flex justify-end gap-1">
          <ModelActions model={model} small />
        </span>
      ),
    },
  ];
}
