import type { ModelAnswer, Preferences } from '@sotto/wire';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { eligibleModelsQuery, previewQuery } from '../../../api/preferences.ts';
import { isOffered } from '../../../models/model-options.ts';
import { Card, ErrorState, Loading, Skeleton } from '../../../ui/surface.tsx';
import { Decision } from './decision.tsx';
import { requestOf } from './request-shape.ts';
import { ShapeForm } from './shape-form.tsx';

const stillMs = 300;

/** Previews a request under the settings on the page, saved or not. */
export function PreviewPanel({
  workspaceId,
  preferences,
  isDraft,
  models,
}: {
  readonly workspaceId: string;
  readonly preferences: Preferences;
  /** Whether they differ from what is saved. */
  readonly isDraft: boolean;
  readonly models: readonly ModelAnswer[];
}) {
  const shape = useSearch({ from: '/session/routing' });
  const navigate = useNavigate({ from: '/routing' });
  const question = { ...requestOf(shape), workspace_id: workspaceId, preferences };
  const isSettled = useIsSettled(question);
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    ...previewQuery(question),
    enabled: isSettled,
    placeholderData: keepPreviousData,
  });
  const isBehind = !isSettled || (isFetching && isPlaceholderData);
  return (
    <div className="space-y-4">
      <Card
        title="Preview"
        actions={
          <span aria-hidden className="text-sm text-muted">
            {isBehind && 'Updating…'}
          </span>
        }
        lead={
          isDraft
            ? 'With the unsaved settings on this page. Nothing is sent.'
            : 'With the saved settings. Nothing is sent.'
        }
      >
        <ShapeForm
          shape={shape}
          models={models}
          change={(part) =>
            void navigate({
              search: withoutEmpty({ ...shape, ...part }),
              replace: true,
              resetScroll: false,
            })
          }
        />
        <div className="mt-5 border-t border-line pt-4" aria-busy={isBehind}>
          {error !== null && !isBehind ? (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ) : data === undefined ? (
            <Loading label="The preview is loading" lines={5} />
          ) : (
            <Decision answer={data} isBehind={isBehind} />
          )}
        </div>
      </Card>
      <EligibleModels preferences={preferences} models={models} />
    </div>
  );
}

const withoutEmpty = (shape: object) =>
  Object.fromEntries(
    Object.entries(shape).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );

/** The models that a provider may serve under the settings, and the others. */
function EligibleModels({
  preferences,
  models,
}: {
  readonly preferences: Preferences;
  readonly models: readonly ModelAnswer[];
}) {
  const { data, error, refetch } = useQuery({
    ...eligibleModelsQuery(preferences),
    enabled: useIsSettled(preferences),
    placeholderData: keepPreviousData,
  });
  const all = models.filter(isOffered).map(({ id }) => id);
  const eligible = new Set(data?.data.map(({ id }) => id));
  const closed = all.filter((id) => !eligible.has(id));
  return (
    <Card title="Available models">
      {error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton className="h-5 w-40" />
      ) : (
        <>
          <p role="status">
            {closed.length === 0
              ? `All ${String(all.length)} models that have a provider.`
              : `${String(all.length - closed.length)} of ${String(all.length)} models that have a provider.`}
          </p>
          {closed.length > 0 && (
            <details className="mt-2">
              <summary className="min-h-8 cursor-pointer text-accent">
                {closed.length === 1
                  ? 'One without an allowed provider'
                  : `${String(closed.length)} without an allowed provider`}
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

/** Whether a value has not changed for `stillMs`. */
function useIsSettled(value: object): boolean {
  const now = JSON.stringify(value);
  const [settled, setSettled] = useState(now);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(now), stillMs);
    return () => clearTimeout(timer);
  }, [now]);
  return settled === now;
}
