import type { ModelAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { modelsQuery } from '../../api/queries.ts';
import { formatCount } from '../../format/format.ts';
import { isOffered } from '../../models/model-options.ts';
import { Badge, TierBadges } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { Card, EmptyState, ErrorState, Loading, Page } from '../../ui/surface.tsx';
import { Facts } from '../../ui/text.tsx';
import { FirstRequestSnippets } from '../guides/first-request-snippets.tsx';
import { abilitiesIn, abilityNames, tiersOf, typeNames } from './figures.ts';
import { ModelActions } from './model-actions.tsx';
import { ModelRoutes } from './model-routes.tsx';
import { ModelUptime } from './model-uptime.tsx';

const route = getRouteApi('/models/$');

/** `/models/<id>`: one model, its routes, their last 24 hours, and requests to copy. */
export function ModelPage() {
  const { _splat: id = '' } = route.useParams();
  const { data: models, error, isPending, refetch } = useQuery(modelsQuery);
  const model = models?.find((one) => one.id === id && isOffered(one));
  if (model !== undefined) return <Model key={id} model={model} />;
  return (
    <Page title={id}>
      {isPending && <Loading label="The model is loading" lines={10} />}
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {models !== undefined && (
        <EmptyState
          title="No such model"
          text={
            <>
              No model with the id <code className="break-all">{id}</code> is available. Ids are case-sensitive.
            </>
          }
          action={
            <Link to="/models" className={linkClass}>
              All models
            </Link>
          }
        />
      )}
    </Page>
  );
}

function Model({ model }: { model: ModelAnswer }) {
  const routes = model.provider_routes;
  return (
    <Page
      title={model.name}
      lead={
        <span className="flex flex-wrap items-center gap-2">
          <code className="min-w-0 font-mono text-sm break-all text-text">{model.id}</code>
          <ModelActions model={model} />
        </span>
      }
      actions={
        <Link to="/models" className={linkClass}>
          All models
        </Link>
      }
    >
      <Card>
        <h2 className="sr-only">Facts</h2>
        <Facts
          facts={[
            { name: 'Type', value: typeNames[model.model_type] },
            ...(model.context_length === null
              ? []
              : [{ name: 'Context', value: `${formatCount(model.context_length)} tokens` }]),
            ...(model.max_output_tokens === null
              ? []
              : [{ name: 'Longest output', value: `${formatCount(model.max_output_tokens)} tokens` }]),
            { name: 'Tiers', value: <TierBadges of={tiersOf(routes)} /> },
            ...(model.model_type === 'text' ? [{ name: 'Supports', value: <Abilities model={model} /> }] : []),
            {
              name: 'Auto’s current choice',
              value: model.auto_provider ?? 'None: no route meets the settings of a new workspace',
            },
          ]}
        />
      </Card>
      <ModelRoutes model={model} />
      <ModelUptime model={model.id} />
      <HowToAsk model={model} />
    </Page>
  );
}

function Abilities({ model }: { model: ModelAnswer }) {
  const offered = abilitiesIn(model.provider_routes);
  if (offered.length === 0) return 'Text only';
  return (
    <span className="flex flex-wrap gap-1">
      {offered.map((ability) => (
        <Badge key={ability}>{abilityNames[ability]}</Badge>
      ))}
    </span>
  );
}

function HowToAsk({ model }: { model: ModelAnswer }) {
  return (
    <Card
      title="How to ask"
      lead={
        <>
          With your key in them, these work as they are. Create one on{' '}
          <Link to="/keys" className={linkClass}>
            Keys
          </Link>
          .
        </>
      }
    >
      <FirstRequestSnippets model={model} />
    </Card>
  );
}
