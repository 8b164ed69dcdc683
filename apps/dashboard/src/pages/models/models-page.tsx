import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useDeferredValue, useMemo } from 'react';
import { measurementsQuery, modelsQuery } from '../../api/queries.ts';
import { formatCount } from '../../format/format.ts';
import { isOffered } from '../../models/model-options.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { EmptyState, ErrorState, Loaded, Page } from '../../ui/surface.tsx';
import { CompareBar } from './compare-bar.tsx';
import { findModels } from './find-models.ts';
import { ModelFilters } from './model-filters.tsx';
import { ModelList } from './model-list.tsx';
import { comparedOf, type ModelSearch } from './model-search.ts';

const route = getRouteApi('/models/');

/** `/models`: all models with their providers and prices. */
export function ModelsPage() {
  const query = useQuery(modelsQuery);
  const models = query.data;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: ModelSearch) =>
    void navigate({ to: '/models', search: next, replace: true, resetScroll: false });
  const shownSearch = useDeferredValue(search);
  const wantsMeasured = search.sort === 'speed' || search.sort === 'uptime';
  const { data: known, error, refetch } = useQuery({ ...measurementsQuery, enabled: wantsMeasured });
  const isMeasured = wantsMeasured && error === null;
  const measured = isMeasured ? known : undefined;
  const found = useMemo(() => findModels(models ?? [], shownSearch, measured), [models, shownSearch, measured]);
  const offered = (models ?? []).filter(isOffered);
  const compared = comparedOf(search.compare).flatMap((id) => offered.find((model) => model.id === id) ?? []);
  const compare = (ids: readonly string[]): void =>
    change({ ...search, compare: ids.length === 0 ? undefined : ids.join() });
  return (
    <Page
      title="Models"
      lead={
        <>
          Every model, its providers and their prices. Send the id as <code>model</code>, or <code>/auto</code> to have
          one chosen{' '}
          <Link to="/routing" className={linkClass}>
            by your settings
          </Link>
          .
        </>
      }
    >
      <Loaded query={query} label="Models are loading" lines={12}>
        {() =>
          offered.length === 0 && (
            <EmptyState
              title="No models yet"
              text="A model is offered as soon as one of its providers has a key in the broker’s environment."
            />
          )
        }
      </Loaded>
      {offered.length > 0 && (
        <>
          <ModelFilters models={offered} search={search} onChange={change} />
          <p role="status" className="text-sm text-muted">
            {found.length === offered.length
              ? `${formatCount(offered.length)} models`
              : `${formatCount(found.length)} of ${formatCount(offered.length)} models have a route that fits`}
          </p>
          {wantsMeasured && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
          {found.length === 0 ? (
            <EmptyState
              title="No model fits"
              text="No route matches all filters. Remove a filter, or clear them all."
              action={<Button onClick={() => change({})}>Clear all filters</Button>}
            />
          ) : (
            <ModelList
              found={found}
              search={search}
              onSort={(sort) => change({ ...search, sort })}
              compared={compared.map(({ id }) => id)}
              onCompare={compare}
              isMeasured={isMeasured}
            />
          )}
          {compared.length > 0 && <CompareBar models={compared} onClear={() => compare([])} />}
        </>
      )}
    </Page>
  );
}
