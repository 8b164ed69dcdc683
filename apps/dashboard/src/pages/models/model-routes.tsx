import { type ModelAnswer, type PricingAnswer, type RouteAnswer, relaySentence } from '@sotto/wire';
import { Link } from '@tanstack/react-router';
import { formatCompact, formatPrice } from '../../format/format.ts';
import { Badge, TierBadge, TierPromises } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { Card } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { abilitiesIn, abilityNames, contextOf, outputLimitOf, pricesIn, tiersOf } from './figures.ts';

/** Every route of a model, with provider, tier, promise of the tier, and prices. */
export function ModelRoutes({ model }: { model: ModelAnswer }) {
  const routes = model.provider_routes.map((route, place) => ({ ...route, place }));
  const isText = model.model_type === 'text';
  return (
    <Card title="Routes" lead="The service orders these routes by tier, price and speed. Failed attempts are free.">
      <Table caption={`Routes of ${model.name}`} columns={columnsFor(model)} rows={routes} rowKey={keyOf} />
      <TierPromises of={tiersOf(routes)}>
        {isText && (
          <li>Prices are in $ per million tokens. You pay the price of the route that answered, never more.</li>
        )}
      </TierPromises>
    </Card>
  );
}

type PlacedRoute = RouteAnswer & { readonly place: number };

/** Several unlisted providers are all called `other`. */
const keyOf = ({ place, provider }: PlacedRoute): string => `${place} ${provider}`;

function columnsFor(model: ModelAnswer): readonly Column<PlacedRoute>[] {
  const routes = model.provider_routes;
  const isText = model.model_type === 'text';
  return [
    {
      title: 'Provider',
      heading: true,
      cell: ({ provider, insecure_http: isPlain, relay_attacks: attacks }) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          {provider === 'other' ? (
            provider
          ) : (
            <Link to="/providers/$provider" params={{ provider }} className={`${linkClass} break-all`}>
              {provider}
            </Link>
          )}
          {provider === model.auto_provider && provider !== 'other' && <Badge tone="good">Auto’s pick</Badge>}
          {isPlain === true && <Badge tone="warn">No TLS</Badge>}
          {attacks?.includes('read_content') && (
            <span title={relaySentence(attacks)}>
              <Badge tone="warn">A malicious broker can read</Badge>
            </span>
          )}
        </span>
      ),
    },
    { title: 'Tier', cell: (route) => <TierBadge tier={route.privacy_class} /> },
    ...pricesIn(routes).map(
      ({ price, name, unit }): Column<PlacedRoute> => ({
        title: isText || unit === 'per M tokens' ? name : `${name}, ${unit}`,
        numeric: true,
        cell: ({ pricing }) => <Price pricing={pricing} price={price} />,
      }),
    ),
    ...(isText || model.model_type === 'embedding'
      ? [{ title: 'Context', numeric: true, cell: (route: PlacedRoute) => <Context model={model} route={route} /> }]
      : []),
    ...(isText ? [{ title: 'Supports', cell: (route: PlacedRoute) => <Supports route={route} /> }] : []),
  ];
}

/** How much fits in, and under it how much of that may be output. */
function Context({ model, route }: { model: ModelAnswer; route: RouteAnswer }) {
  const context = contextOf(model, route);
  const output = outputLimitOf(model, route);
  return (
    <>
      {context === undefined ? '–' : formatCompact(context)}
      {output !== undefined && (
        <span className="block text-xs whitespace-nowrap text-muted">{formatCompact(output)} output</span>
      )}
    </>
  );
}

/** A price, and under it what longer prompts pay. */
function Price({ pricing, price }: { pricing: PricingAnswer; price: ReturnType<typeof pricesIn>[number]['price'] }) {
  const usd = pricing[price];
  return (
    <>
      {usd === undefined ? '–' : formatPrice(usd)}
      {pricing.tiers?.map((tier) => {
        const tierUsd =
          price === 'image' || price === 'input_characters' || price === 'reasoning' ? undefined : tier[price];
        return tierUsd === undefined ? null : (
          <span key={tier.above_prompt_tokens} className="block text-xs whitespace-nowrap text-muted">
            {formatPrice(tierUsd)} above {formatCompact(tier.above_prompt_tokens)}
          </span>
        );
      })}
    </>
  );
}

function Supports({ route }: { route: RouteAnswer }) {
  const offered = abilitiesIn([route]);
  const efforts = route.capabilities.reasoning?.efforts ?? [];
  if (offered.length === 0) return <span className="text-muted">Text only</span>;
  return (
    <span className="text-sm">
      {offered.map((ability) => abilityNames[ability]).join(', ')}
      {efforts.length > 0 && <span className="block text-xs text-muted">Efforts: {efforts.join(', ')}</span>}
    </span>
  );
}
