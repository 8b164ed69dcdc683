import type { RouteAnswer } from '@sotto/wire';
import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import { ArrowDown, ArrowUp } from 'lucide-react';
import type { ReactNode } from 'react';
import { formatPrice } from '../../format/money.ts';
import { formatCompact } from '../../format/numbers.ts';
import { Badge, TierBadge } from '../../ui/badge.tsx';
import { abilitiesIn, abilityNames, contextOf, differs, lowest, providersOf, tiersOf, typeNames } from './figures.ts';
import type { FoundModel } from './find-models.ts';
import type { ModelSearch, ModelSort } from './model-search.ts';

export interface ModelListProps {
  readonly found: readonly FoundModel[];
  readonly search: ModelSearch;
  readonly onSort: (sort: ModelSort | undefined) => void;
}

const columns =
  'md:grid-cols-[minmax(0,2.2fr)_minmax(0,1.6fr)_4.5rem_6.5rem_6.5rem] lg:grid-cols-[minmax(0,1.9fr)_minmax(0,1.8fr)_minmax(0,1.3fr)_4rem_6.5rem_6.5rem]';

/**
 * A table whose rows are grids: only such rows can be left unpainted while they are out of sight, which keeps a list of
 * hundreds fluent. Browsers and readers still see a table.
 */
export function ModelList({ found, search, onSort }: ModelListProps) {
  const heading = { search, onSort };
  return (
    <table className="block">
      <caption className="sr-only">Models, with the best that their routes offer</caption>
      <thead className="block max-md:sr-only">
        <tr className={clsx('grid items-end gap-x-4 border-b border-line-strong pb-2 text-sm', columns)}>
          <Heading {...heading} sort="name">
            Model
          </Heading>
          <th scope="col" className="text-left font-medium text-muted">
            Tiers and providers
          </th>
          <th scope="col" className="hidden text-left font-medium text-muted lg:block">
            Supports
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
        </tr>
      </thead>
      <tbody className="block">
        {found.map((one) => (
          <ModelRow key={one.model.id} {...one} />
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
const figure = 'tabular-nums md:text-right';

function ModelRow({ model, routes }: FoundModel) {
  const context = Math.max(0, ...routes.map((route) => contextOf(model, route) ?? 0));
  const providers = providersOf(routes);
  return (
    <tr
      className={clsx(
        'relative grid items-center gap-x-4 gap-y-1 border-b border-line py-3 [contain-intrinsic-size:auto_4.25rem] [content-visibility:auto] hover:bg-raised md:py-2.5',
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
        <div className="flex flex-wrap gap-1">
          {tiersOf(routes).map((tier) => (
            <TierBadge key={tier} tier={tier} />
          ))}
        </div>
        <div className="truncate text-sm text-muted" title={providers.join(', ')}>
          {providers.join(', ')}
        </div>
      </td>
      <td className={clsx(cell, 'hidden text-sm text-muted lg:block')}>
        {abilitiesIn(routes)
          .map((ability) => abilityNames[ability])
          .join(', ') || '–'}
      </td>
      <td className={figure}>
        <Narrow>Context</Narrow>
        {context === 0 ? '–' : <span title={`${context} tokens`}>{formatCompact(context)}</span>}
      </td>
      <td className={figure}>
        <Narrow>Input</Narrow>
        {model.model_type === 'tts' ? (
          <Price routes={routes} price="input_characters" unit="per M characters" />
        ) : (
          <Price routes={routes} price="input" />
        )}
      </td>
      <td className={figure}>
        <Narrow>Output</Narrow>
        {model.model_type === 'image' ? (
          <Price routes={routes} price="image" unit="per image" />
        ) : (
          <Price routes={routes} price="output" />
        )}
      </td>
    </tr>
  );
}

/** The title of a figure where there is no head of the table to read it from. */
function Narrow({ children }: { children: ReactNode }) {
  return (
    <span aria-hidden className="block text-xs text-muted md:hidden">
      {children}
    </span>
  );
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
