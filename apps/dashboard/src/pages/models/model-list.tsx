import type { RouteAnswer } from '@sotto/wire';
import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import { ArrowDown, ArrowUp } from 'lucide-react';
import type { ReactNode } from 'react';
import { formatCompact, formatCount, formatPrice, formatShare } from '../../format/format.ts';
import { Badge, TierBadges } from '../../ui/badge.tsx';
import { Skeleton } from '../../ui/surface.tsx';
import { abilitiesIn, abilityNames, contextIn, differs, lowest, providersOf, tiersOf, typeNames } from './figures.ts';
import type { FoundModel } from './find-models.ts';
import type { Measured } from './measured.ts';
import { ModelActions } from './model-actions.tsx';
import { type ModelSearch, type ModelSort, type ModelType, mostCompared } from './model-search.ts';

interface ModelListProps {
  readonly found: readonly FoundModel[];
  readonly search: ModelSearch;
  readonly onSort: (sort: ModelSort | undefined) => void;
  /** The ids that are compared. */
  readonly compared: readonly string[];
  readonly onCompare: (ids: readonly string[]) => void;
  /** Shows measurements in place of what models support. */
  readonly isMeasured: boolean;
}

const columns =
  'md:grid-cols-[minmax(0,2.2fr)_minmax(0,1.6fr)_4.5rem_6rem_6rem_6.75rem] lg:grid-cols-[minmax(0,1.9fr)_minmax(0,1.7fr)_minmax(0,1.3fr)_4rem_6rem_6rem_6.75rem]';

/**
 * A table whose rows are grids: only such rows can be left unpainted while they are out of sight, which keeps a list of
 * hundreds fluent. Browsers and readers still see a table.
 */
export function ModelList({ found, search, onSort, compared, onCompare, isMeasured }: ModelListProps) {
  const heading = { search, onSort };
  return (
    <table className="block">
      <caption className="sr-only">Models, with the best figures of their routes</caption>
      <thead className="block max-md:sr-only">
        <tr className={clsx('grid items-end gap-x-4 border-b border-line-strong pb-2 text-sm', columns)}>
          <Heading {...heading} sort="name">
            Model
          </Heading>
          <th scope="col" className="text-left font-medium text-muted">
            Tiers and providers
          </th>
          <th scope="col" className="hidden text-left font-medium text-muted lg:block">
            {isMeasured ? 'Last 24 hours' : 'Supports'}
          </th>
          <Heading {...heading} sort="context" numeric>
            Context
          </Heading>
          <Heading {...heading} sort="input" numeric unit="per M tokens">
            Input
          </Heading>
          <Heading {...heading} sort="output" numeric unit="per M tokens">
            Output
          </Heading>
          <th scope="col" className="text-right font-medium text-muted">
            <span className="sr-only">Actions and </span>Compare
          </th>
        </tr>
      </thead>
      <tbody className="block">
        {found.map((one) => (
          <ModelRow
            key={one.model.id}
            {...one}
            isMeasured={isMeasured}
            isCompared={compared.includes(one.model.id)}
            canCompare={compared.length < mostCompared}
            onCompare={(isChosen) =>
              onCompare(isChosen ? [...compared, one.model.id] : compared.filter((id) => id !== one.model.id))
            }
          />
        ))}
      </tbody>
    </table>
  );
}

interface HeadingProps extends Pick<ModelListProps, 'search' | 'onSort'> {
  readonly sort: ModelSort;
  readonly numeric?: boolean;
  readonly unit?: string;
  readonly children: ReactNode;
}

function Heading({ search, onSort, sort, numeric = false, unit, children }: HeadingProps) {
  const isSorted = (search.sort ?? 'name') === sort;
  const isDescending = sort === 'context';
  const Arrow = isDescending ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
      className={clsx('font-medium text-muted', numeric ? 'text-right' : 'text-left')}
    >
      <button
        type="button"
        onClick={() => onSort(sort === 'name' ? undefined : sort)}
        className={clsx('inline-flex items-center gap-1 rounded hover:text-text', isSorted && 'text-text')}
      >
        {children}
        {isSorted && <Arrow aria-hidden className="size-3.5" />}
      </button>
      {unit !== undefined && <span className="block text-xs font-normal">{unit}</span>}
    </th>
  );
}

const cell = 'min-w-0 self-center';
const figure = 'tabular-nums max-md:self-start md:text-right';

interface ModelRowProps extends FoundModel {
  readonly isMeasured: boolean;
  readonly isCompared: boolean;
  readonly canCompare: boolean;
  readonly onCompare: (isChosen: boolean) => void;
}

function ModelRow({ model, routes, measured, isMeasured, isCompared, canCompare, onCompare }: ModelRowProps) {
  const context = contextIn(model, routes);
  const providers = providersOf(routes);
  return (
    <tr
      className={clsx(
        'relative grid items-center gap-x-4 gap-y-1 border-b border-line py-3 [contain-intrinsic-size:auto_3.75rem] [content-visibility:auto] hover:bg-raised md:py-1.5',
        'max-md:grid-cols-3',
        columns,
      )}
    >
      <td className={clsx(cell, 'max-md:col-span-3')}>
        <div className="flex flex-wrap items-center gap-x-2">
          <Link
            to="/models/$"
            params={{ _splat: model.id }}
            className="font-medium break-words -outline-offset-2 after:absolute after:inset-0"
          >
            {model.name}
          </Link>
          {model.model_type !== 'text' && <Badge>{typeNames[model.model_type]}</Badge>}
        </div>
        {model.name !== model.id && <div className="font-mono text-xs break-all text-muted">{model.id}</div>}
      </td>
      <td className={clsx(cell, 'max-md:col-span-3')}>
        <TierBadges of={tiersOf(routes)} />
        <div className="truncate text-sm text-muted" title={providers.join(', ')}>
          {providers.join(', ')}
        </div>
      </td>
      <td
        className={clsx(
          cell,
          'text-sm text-muted lg:block',
          isMeasured ? 'max-md:col-span-3 md:max-lg:hidden' : 'hidden',
        )}
      >
        {isMeasured
          ? measuredWords(measured)
          : abilitiesIn(routes)
              .map((ability) => abilityNames[ability])
              .join(', ') || '–'}
      </td>
      <td className={figure}>
        <Narrow>Context</Narrow>
        {context === 0 ? '–' : <span title={`${context} tokens`}>{formatCompact(context)}</span>}
      </td>
      <td className={figure}>
        <Narrow>Input</Narrow>
        <ModelPrice type={model.model_type} routes={routes} side="input" />
      </td>
      <td className={figure}>
        <Narrow>Output</Narrow>
        <ModelPrice type={model.model_type} routes={routes} side="output" />
      </td>
      <td className={clsx(cell, 'relative z-10 flex items-center gap-1 max-md:col-span-3 md:justify-end')}>
        <ModelActions model={model} small />
        <label
          title={isCompared || canCompare ? 'Compare' : `At most ${mostCompared} can be compared`}
          className="inline-flex min-h-8 cursor-pointer items-center justify-center gap-1.5 px-2 text-sm"
        >
          <input
            type="checkbox"
            checked={isCompared}
            disabled={!isCompared && !canCompare}
            onChange={(event) => onCompare(event.target.checked)}
            className="size-4 accent-accent"
          />
          <span className="md:sr-only">
            Compare<span className="sr-only">{` ${model.id}`}</span>
          </span>
        </label>
      </td>
    </tr>
  );
}

/** Speed and uptime in words. */
function measuredWords(measured: Measured | undefined): ReactNode {
  if (measured === undefined) return <Skeleton className="h-4 w-24" />;
  const { tokensPerSecond, successRate } = measured;
  if (successRate === undefined) return 'too few requests';
  return [
    ...(tokensPerSecond === undefined ? [] : [`${formatCount(tokensPerSecond)} tokens/s`]),
    `${formatShare(successRate)} success`,
  ].join(', ');
}

/** The title of a figure on narrow screens, which hide the table's head. */
function Narrow({ children }: { children: ReactNode }) {
  return (
    <span aria-hidden className="block text-xs text-muted md:hidden">
      {children}
    </span>
  );
}

interface ModelPriceProps {
  readonly type: ModelType;
  readonly routes: readonly RouteAnswer[];
  readonly side: 'input' | 'output';
}

/** The lowest price for what goes in or comes out, with its unit where that is not a million tokens. */
export function ModelPrice({ type, routes, side }: ModelPriceProps) {
  if (type === 'tts' && side === 'input')
    return <Price routes={routes} price="input_characters" unit="per M characters" />;
  if (type === 'image' && side === 'output') return <Price routes={routes} price="image" unit="per image" />;
  return <Price routes={routes} price={side} />;
}

interface PriceProps {
  readonly routes: readonly RouteAnswer[];
  readonly price: 'input' | 'output' | 'image' | 'input_characters';
  /** Where it is not per million tokens. */
  readonly unit?: string;
}

function Price({ routes, price, unit }: PriceProps) {
  const usd = lowest(routes, price);
  if (usd === undefined) return '–';
  return (
    <>
      {differs(routes, price) && <span className="text-sm text-muted">from </span>}
      {formatPrice(usd)}
      {unit !== undefined && <span className="block text-xs text-muted">{unit}</span>}
    </>
  );
}
