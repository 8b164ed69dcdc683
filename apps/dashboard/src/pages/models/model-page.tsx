import type { ModelAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { modelsQuery } from '../../api/models.ts';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { formatCount } from '../../format/numbers.ts';
import { SnippetTabs } from '../../snippets/snippet-tabs.tsx';
import { Badge, TierBadge } from '../../ui/badge.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { abilitiesIn, abilityNames, tiersOf, typeNames } from './figures.ts';
import { ModelRoutes } from './model-routes.tsx';
import { modelSnippets } from './model-snippets.ts';
import { ModelUptime } from './model-uptime.tsx';

const route = getRouteApi('/models/$');

/** `/models/<id>`: one model, its routes, how they did lately, and how to ask it. */
export function ModelPage() {
  const { _splat: id = '' } = route.useParams();
  const { data: models, error, isPending, refetch } = useQuery(modelsQuery);
  const model = models?.find((one) => one.id === id && one.provider_routes.length > 0);
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
              Nothing with the id <code className="break-all">{id}</code> is offered now. Ids are case-sensitive.
            </>
          }
          action={
            <Link to="/models" className="text-accent underline underline-offset-2">
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
          <CopyButton text={model.id} label="Copy id" />
        </span>
      }
      actions={
        <Link to="/models" className="text-accent underline underline-offset-2">
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
            {
              name: 'Tiers',
              value: (
                <span className="flex flex-wrap gap-1">
                  {tiersOf(routes).map((tier) => (
                    <TierBadge key={tier} tier={tier} />
                  ))}
                </span>
              ),
            },
            ...(model.model_type === 'text' ? [{ name: 'Supports', value: <Abilities model={model} /> }] : []),
            {
              name: 'Auto would pick now',
              value: model.auto_provider ?? 'No route: none meets the settings of a new workspace',
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
  const snippets = modelSnippets(model, { controlOrigin, confidentialOrigin });
  return (
    <Card
      title="How to ask"
      lead={
        <>
          Put your own key in; make one at{' '}
          <Link to="/keys" className="text-accent underline underline-offset-2">
            Keys
          </Link>
          .
        </>
      }
    >
      <SnippetTabs snippets={snippets} />
    </Card>
  );
}
