import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useDeferredValue, useMemo } from 'react';
import { modelsQuery } from '../../api/models.ts';
import { formatCount } from '../../format/numbers.ts';
import { Button } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { findModels } from './find-models.ts';
import { ModelFilters } from './model-filters.tsx';
import { ModelList } from './model-list.tsx';
import type { ModelSearch } from './model-search.ts';

const route = getRouteApi('/models/');

/** `/models`: what can be asked, by whom it is served, and what it costs. */
export function ModelsPage() {
  const { data: models, error, isPending, refetch } = useQuery(modelsQuery);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: ModelSearch) =>
    void navigate({ to: '/models', search: next, replace: true, resetScroll: false });
  const shownSearch = useDeferredValue(search);
  const found = useMemo(() => findModels(models ?? [], shownSearch), [models, shownSearch]);
  const offered = (models ?? []).filter(({ provider_routes }) => provider_routes.length > 0);
  return (
    <Page
      title="Models"
      lead={
        <>
          Every model, the providers that serve it, and what each asks. Send the id as <code>model</code>, or{' '}
          <code>/auto</code> to have one chosen{' '}
          <Link to="/routing" className="text-accent underline underline-offset-2">
            by your settings
          </Link>
          .
        </>
      }
    >
      {isPending && <Loading label="Models are loading" lines={12} />}
      {error !== null && models === undefined && <ErrorState error={error} onRetry={() => void refetch()} />}
      {models !== undefined && offered.length === 0 && (
        <EmptyState
          title="No models yet"
          text="A model is offered as soon as one of its providers has a key in the broker’s environment."
        />
      )}
      {offered.length > 0 && (
        <>
          <ModelFilters models={offered} search={search} onChange={change} />
          <p role="status" className="text-sm text-muted">
            {found.length === offered.length
              ? `${formatCount(offered.length)} models`
              : `${formatCount(found.length)} of ${formatCount(offered.length)} models have a route that fits`}
          </p>
          {found.length === 0 ? (
            <EmptyState
              title="No model fits"
              text="No single route does all of this. Take away a filter, or begin anew."
              action={<Button onClick={() => change({})}>Clear all filters</Button>}
            />
          ) : (
            <ModelList found={found} search={search} onSort={(sort) => change({ ...search, sort })} />
          )}
        </>
      )}
    </Page>
  );
}
