import type { ModelAnswer, Preferences } from '@sotto/wire';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { previewQuery } from '../../../api/preferences.ts';
import { Loading } from '../../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../../ui/surface.tsx';
import { useDebounced } from '../../../ui/use-debounced.ts';
import { Decision } from './decision.tsx';
import { EligibleModels } from './eligible-models.tsx';
import { requestOf } from './request-shape.ts';
import { ShapeForm } from './shape-form.tsx';

const stillMs = 300;

/** What a request would get under the settings as they stand on the page, saved or not. */
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
  const asked = useDebounced(JSON.stringify({ ...requestOf(shape), workspace_id: workspaceId, preferences }), stillMs);
  const question = { ...requestOf(shape), workspace_id: workspaceId, preferences };
  const isSettled = JSON.stringify(question) === asked;
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
            ? 'Under the settings beside, not saved yet. Nothing is sent.'
            : 'Under the saved settings. Nothing is sent.'
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

const withoutEmpty = <Shape extends object>(shape: Shape) =>
  Object.fromEntries(
    Object.entries(shape).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
