import type { ModelAnswer, Preferences, WorkspaceAnswer } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError, sentenceOf } from '../../api/call.ts';
import { preferencesQuery, putPreferences } from '../../api/preferences.ts';
import { useChange } from '../../api/use-change.ts';
import { Notice } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { changedSettings, type Draft, draftOf, mergeChanges, readDraft } from './draft.ts';
import { PreviewPanel } from './preview/preview-panel.tsx';
import { AutoSettings } from './settings/auto-settings.tsx';
import { FallbackSettings } from './settings/fallback-settings.tsx';
import { OrderSettings } from './settings/order-settings.tsx';
import { PrivacySettings } from './settings/privacy-settings.tsx';
import { ProviderSettings } from './settings/provider-settings.tsx';
import { UnsavedBar } from './unsaved-bar.tsx';

/** Settings that somebody is changing. */
export interface Edit {
  /** What was saved when they began. */
  readonly before: Preferences;
  readonly draft: Draft;
}

export interface RoutingFormProps {
  readonly workspace: WorkspaceAnswer;
  readonly saved: Preferences;
  readonly models: readonly ModelAnswer[];
  /** Undefined: nothing is being changed. */
  readonly edit: Edit | undefined;
  readonly onEdit: (edit: Edit | undefined) => void;
}

/** The settings of one workspace, the preview beside them, and the bar that saves. */
export function RoutingForm({ workspace, saved, models, edit, onEdit }: RoutingFormProps) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const before = edit?.before ?? saved;
  const draft = edit?.draft ?? draftOf(saved);
  const { preferences, problems } = readDraft(draft);
  const changed = changedSettings(before, preferences);
  const isWrong = Object.keys(problems).length > 0;
  const mayWrite = workspace.role === 'owner' || workspace.role === 'admin';

  const saving = useChange({
    mutationFn: async () => {
      // The answer replaces the whole: what others changed meanwhile is read first, and kept.
      const now = await client.fetchQuery({ ...preferencesQuery(workspace.id), staleTime: 0 });
      return putPreferences(workspace.id, mergeChanges(before, preferences, now));
    },
    onSuccess: (now) => {
      client.setQueryData(preferencesQuery(workspace.id).queryKey, now);
      onEdit(undefined);
      announce({ text: 'Saved. The next request is routed by it.' });
    },
  });
  const change = (part: Partial<Draft>): void => {
    saving.reset();
    const next = { ...draft, ...part };
    const read = readDraft(next);
    const isBack = changedSettings(before, read.preferences).length === 0 && Object.keys(read.problems).length === 0;
    onEdit(isBack ? undefined : { before, draft: next });
  };
  const settings = { draft, change, problems, disabled: !mayWrite || saving.isPending };
  return (
    <>
      {!mayWrite && (
        <Notice>
          You can read these settings. Changing them takes the role admin in this workspace; yours is {workspace.role}.
        </Notice>
      )}
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(24rem,30rem)]">
        <div className="min-w-0 space-y-4">
          <PrivacySettings {...settings} />
          <OrderSettings {...settings} />
          <FallbackSettings {...settings} />
          <AutoSettings {...settings} models={models} />
          <ProviderSettings {...settings} models={models} />
        </div>
        <div
          id="preview"
          className="min-w-0 scroll-mt-18 xl:sticky xl:top-18 xl:max-h-[calc(100dvh-5.5rem)] xl:overflow-y-auto"
        >
          <PreviewPanel
            workspaceId={workspace.id}
            preferences={preferences}
            isDraft={changed.length > 0}
            models={models}
          />
        </div>
      </div>
      {(changed.length > 0 || isWrong) && (
        <UnsavedBar
          changed={changed}
          problem={isWrong ? Object.values(problems)[0] : problemOf(saving.error)}
          busy={saving.isPending}
          onSave={() => {
            if (!isWrong) saving.mutate();
          }}
          onDiscard={() => {
            saving.reset();
            onEdit(undefined);
          }}
        />
      )}
    </>
  );
}

function problemOf(error: unknown): string | undefined {
  if (error === null) return undefined;
  const request = error instanceof ApiError && error.requestId !== undefined ? ` (request ${error.requestId})` : '';
  return `${sentenceOf(error)}${request}`;
}
