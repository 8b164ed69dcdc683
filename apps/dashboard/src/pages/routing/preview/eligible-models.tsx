import type { ModelAnswer, Preferences } from '@sotto/wire';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { eligibleModelsQuery } from '../../../api/preferences.ts';
import { Skeleton } from '../../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../../ui/surface.tsx';
import { useDebounced } from '../../../ui/use-debounced.ts';

const stillMs = 300;

/** Which models some provider may serve under the settings, and which none may. */
export function EligibleModels({
  preferences,
  models,
}: {
  readonly preferences: Preferences;
  readonly models: readonly ModelAnswer[];
}) {
  const settled = useDebounced(JSON.stringify(preferences), stillMs);
  const { data, error, refetch } = useQuery({
    ...eligibleModelsQuery(preferences),
    enabled: settled === JSON.stringify(preferences),
    placeholderData: keepPreviousData,
  });
  const all = models.filter(({ provider_routes }) => provider_routes.length > 0).map(({ id }) => id);
  const eligible = new Set(data?.data.map(({ id }) => id));
  const closed = all.filter((id) => !eligible.has(id));
  return (
    <Card title="Models that may be asked">
      {error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton className="h-5 w-40" />
      ) : (
        <>
          <p role="status">
            {closed.length === 0
              ? `All ${String(all.length)} models of the catalog.`
              : `${String(all.length - closed.length)} of ${String(all.length)} models of the catalog.`}
          </p>
          {closed.length > 0 && (
            <details className="mt-2">
              <summary className="min-h-8 cursor-pointer text-accent">
                {closed.length === 1
                  ? 'One that no provider may serve'
                  : `${String(closed.length)} that no provider may serve`}
              </summary>
              <ul className="mt-1 space-y-1 text-sm break-all text-muted">
                {closed.map((id) => (
                  <li key={id}>{id}</li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </Card>
  );
}
