import type { ModelAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { measurementsQuery } from '../../api/queries.ts';
import { formatCompact, formatCount, formatMs, formatPrice, formatShare } from '../../format/format.ts';
import { TierBadges } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState, ScrollArea, Skeleton } from '../../ui/surface.tsx';
import { measuredText } from '../../ui/text.tsx';
import {
  abilitiesIn,
  abilityNames,
  contextOf,
  differs,
  lowest,
  outputLimitOf,
  pricesIn,
  providersOf,
  tiersOf,
} from './figures.ts';
import { type Measured, measuredOf } from './measured.ts';
import { ModelActions } from './model-actions.tsx';
import { mostCompared } from './model-search.ts';

interface CompareBarProps {
  readonly models: readonly ModelAnswer[];
  readonly onClear: () => void;
}

/** Names the models that were chosen to compare, at the foot of the list, and opens their table. */
export function CompareBar({ models, onClear }: CompareBarProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section
      aria-label="Comparison"
      className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line-strong bg-surface px-4 py-2 shadow-lg sm:-mx-6 sm:px-6 lg:-mx-8 lg:px-8"
    >
      <p role="status" className="min-w-0 flex-1 basis-64 text-sm">
        <span className="font-medium">{`${models.length} of ${mostCompared}: `}</span>
        <span className="break-words text-muted">{models.map(({ id }) => id).join(', ')}</span>
      </p>
      <div className="flex gap-2">
        <Button small onClick={onClear}>
          Clear
        </Button>
        <Button small look="primary" disabled={models.length < 2} onClick={() => setOpen(true)}>
          {models.length < 2 ? 'Choose another to compare' : `Compare ${models.length} models`}
        </Button>
      </div>
      {isOpen && (
        <Dialog title="Models compared" wide onClose={() => setOpen(false)}>
          <Comparison models={models} />
        </Dialog>
      )}
    </section>
  );
}

const longest = (figures: readonly (number | undefined)[]): string => {
  const most = Math.max(0, ...figures.map((figure) => figure ?? 0));
  return most === 0 ? '–' : formatCompact(most);
};

interface Row {
  readonly title: string;
  readonly cell: (model: ModelAnswer) => ReactNode;
}

function Comparison({ models }: { models: readonly ModelAnswer[] }) {
  const { data: known, isPending, error, refetch } = useQuery(measurementsQuery);
  const figure = (show: (measured: Measured) => ReactNode) => (model: ModelAnswer) => {
    if (known === undefined) return isPending ? <Skeleton className="h-4 w-16" /> : '–';
    return show(measuredOf(known.get(model.id) ?? [], model.provider_routes));
  };
  const rows: readonly Row[] = [
    { title: 'Tiers', cell: ({ provider_routes }) => <TierBadges of={tiersOf(provider_routes)} /> },
    ...pricesIn(models.flatMap(({ provider_routes }) => provider_routes)).map(
      ({ price, name, unit }): Row => ({
        title: `${name}, ${unit}`,
        cell: ({ provider_routes }) => {
          const usd = lowest(provider_routes, price);
          return usd === undefined ? '–' : `${differs(provider_routes, price) ? 'from ' : ''}${formatPrice(usd)}`;
        },
      }),
    ),
    {
      title: 'Context, tokens',
      cell: (model) => longest(model.provider_routes.map((route) => contextOf(model, route))),
    },
    {
      title: 'Longest output, tokens',
      cell: (model) => longest(model.provider_routes.map((route) => outputLimitOf(model, route))),
    },
    { title: 'Speed, tokens/s', cell: figure(({ tokensPerSecond }) => measuredText(tokensPerSecond, formatCount)) },
    { title: 'First token, p50', cell: figure(({ firstTokenMs }) => measuredText(firstTokenMs, formatMs)) },
    {
      title: 'Uptime, 24 hours',
      cell: figure(({ successRate }) => measuredText(successRate, formatShare)),
    },
    {
      title: 'Supports',
      cell: ({ provider_routes }) =>
        abilitiesIn(provider_routes)
          .map((ability) => abilityNames[ability])
          .join(', ') || '–',
    },
    { title: 'Providers', cell: ({ provider_routes }) => providersOf(provider_routes).join(', ') },
  ];
  return (
    <div className="space-y-3">
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      <ScrollArea label="Models compared">
        <table className="w-full border-collapse text-sm">
          <caption className="sr-only">Models side by side, with the best figures of their routes</caption>
          <thead>
            <tr className="border-b border-line align-top">
              <th scope="col" className="py-2 pr-4 text-left font-medium text-muted">
                Figure
              </th>
              {models.map((model) => (
                <th key={model.id} scope="col" className="min-w-36 py-2 pr-4 text-left font-medium break-words">
                  {model.name}
                  <span className="mt-1.5 flex gap-1 font-normal">
                    <ModelActions model={model} small />
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ title, cell }) => (
              <tr key={title} className="border-b border-line align-top last:border-b-0">
                <th scope="row" className="py-1.5 pr-4 text-left font-normal whitespace-nowrap text-muted">
                  {title}
                </th>
                {models.map((model) => (
                  <td key={model.id} className="py-1.5 pr-4 break-words">
                    {cell(model)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
      <p className="text-sm text-muted">
        Each figure is that of the best route. Measurements need at least 20 requests in 24 hours.
      </p>
    </div>
  );
}
