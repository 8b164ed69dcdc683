import type { RoutingPreviewAnswer } from '@sotto/contract/control/routing';
import type { PricingAnswer } from '@sotto/wire';
import { formatCountOf, formatPrice, formatUsd } from '../../../format/format.ts';
import { Badge, TierBadge } from '../../../ui/badge.tsx';
import { Notice } from '../../../ui/surface.tsx';
import { Sentence } from '../../../ui/text.tsx';

/** The planned routes in their order, and why each other route is left out. */
export function Decision({ answer, isBehind }: { answer: RoutingPreviewAnswer; isBehind: boolean }) {
  const { plan, excluded, refusal, choice, hold_usd: hold, routing, model } = answer;
  return (
    <div className="space-y-4">
      <p role="status" className="sr-only">
        {isBehind
          ? 'Updating the preview.'
          : refusal === null
            ? `${formatCountOf(plan.length, 'provider')} would be tried, ${formatCountOf(excluded.length, 'route')} excluded.`
            : `The request would be rejected: ${refusal.message}`}
      </p>
      {refusal !== null && (
        <Notice tone="danger">
          <p className="font-medium">Request rejected</p>
          <p>
            <Sentence text={refusal.message} />
          </p>
          <p className="font-mono text-sm">{refusal.type}</p>
        </Notice>
      )}
      {choice !== null && (
        <p>
          <span className="font-medium break-all">{model}</span>
          <span className="block text-sm text-muted">
            <Sentence text={choice} />
          </span>
        </p>
      )}
      {plan.length > 0 && (
        <section>
          <h3 className="mb-2 text-sm font-medium">Tried in this order</h3>
          <ol className="space-y-2">
            {plan.map((route, index) => (
              <li
                key={`${route.model} ${route.provider} ${String(index)}`}
                className="flex gap-3 rounded-xl border border-line p-3"
              >
                <span aria-hidden className="w-5 shrink-0 text-right text-muted tabular-nums">
                  {index + 1}
                </span>
                <div className="min-w-0 flex-1">
                  <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
                    <span className="font-medium break-all">{route.provider}</span>
                    <TierBadge tier={route.privacy_class} />
                    {route.shares_traffic && <Badge tone="info">shares traffic</Badge>}
                    {route.penalized && <Badge tone="warn">failed lately</Badge>}
                  </p>
                  <p className="text-sm text-muted tabular-nums">{priceText(route.pricing)}</p>
                  {routing === 'exact' && route.model !== model && (
                    <p className="text-sm break-all text-muted">{route.model}</p>
                  )}
                </div>
              </li>
            ))}
          </ol>
          {plan.some(({ shares_traffic }) => shares_traffic) && (
            <p className="mt-2 text-sm text-muted">
              Routes that share traffic score within 10% of the best. Each is first for an equal share of the requests.
            </p>
          )}
        </section>
      )}
      {hold !== null && (
        <p className="text-sm">
          Held before the first attempt: <span className="font-medium tabular-nums">{formatUsd(hold)}</span>
          <span className="block text-muted">The maximum cost. The unused part is released when the request ends.</span>
        </p>
      )}
      {excluded.length > 0 && (
        <section>
          <h3 className="mb-2 text-sm font-medium">Left out</h3>
          <ul className="divide-y divide-line">
            {excluded.map((route, index) => (
              <li key={`${route.model} ${route.provider} ${String(index)}`} className="py-2">
                <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
                  <span className="font-medium break-all">{route.provider}</span>
                  <Badge>{ruleName(route.rule)}</Badge>
                  {routing === 'auto' && <span className="text-sm break-all text-muted">{route.model}</span>}
                </p>
                <p className="text-sm text-muted">
                  <Sentence text={route.message} />
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** A route's prices in one line. */
function priceText({ input, output, image, input_characters: characters }: PricingAnswer): string {
  if (image !== undefined) return `${formatPrice(image)} an image`;
  if (characters !== undefined) return `${formatPrice(characters)} per million characters`;
  const parts = [
    ...(input === undefined ? [] : [`${formatPrice(input)} in`]),
    ...(output === undefined ? [] : [`${formatPrice(output)} out`]),
  ];
  return `${parts.join(' · ')} per million tokens`;
}

/** Short names of the routing rules. */
const names: Readonly<Record<string, string>> = {
  boundary: 'boundary',
  encryption: 'encryption',
  floor: 'privacy floor',
  only: 'not named',
  ignore: 'disabled',
  capability: 'capability',
  parameters: 'parameters',
  price: 'price',
  context: 'context window',
  step_down: 'step down',
  attempts: 'attempts',
  model: 'model',
};

const ruleName = (rule: string): string => names[rule] ?? rule;
