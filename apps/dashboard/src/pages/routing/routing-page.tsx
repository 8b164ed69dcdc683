import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import type { ModelAnswer, Preferences } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import clsx from 'clsx';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { ApiError, sentenceOf } from '../../api/errors.ts';
import { preferencesQuery } from '../../api/preferences.ts';
import { modelsQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { formatCountOf } from '../../format/format.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { ErrorState, Loading, Notice, Page } from '../../ui/surface.tsx';
import { Sentence } from '../../ui/text.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { changedSettings, type Draft, draftOf, mergeChanges, readDraft } from './draft.ts';
import { PreviewPanel } from './preview/preview-panel.tsx';
import { AutoSettings } from './settings/auto-settings.tsx';
import { ProviderSettings } from './settings/provider-settings.tsx';
import { FallbackSettings, OrderSettings, PrivacySettings } from './settings/request-settings.tsx';

/** `/routing`: the routing preferences of a workspace, with a preview beside them. */
export function RoutingPage() {
  const { workspace } = useWorkspace();
  const id = workspace?.id ?? '';
  /** Unsaved edits by workspace: choosing another workspace loses nothing. */
  const [edits, setEdits] = useState<Readonly<Record<string, Edit | undefined>>>({});
  const preferences = useQuery({ ...preferencesQuery(id), enabled: workspace !== undefined });
  const models = useQuery(modelsQuery);
  const failed = [preferences, models].find(({ error, data }) => error !== null && data === undefined);
  return (
    <Page
      title="Routing"
      lead="Which routes the requests of this workspace may take, and in which order. A request can tighten these settings, never loosen them."
      actions={
        <a href="#preview" className={clsx(buttonClass('plain'), 'xl:hidden')}>
          See the preview
        </a>
      }
    >
      <LeaveGuard isUnsaved={Object.values(edits).some((edit) => edit !== undefined)} />
      {failed !== undefined ? (
        <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />
      ) : workspace === undefined ? (
        <WorkspaceLoading label="The routing settings are loading" lines={12} />
      ) : preferences.data === undefined || models.data === undefined ? (
        <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(24rem,30rem)]">
          <Loading label="The routing settings are loading" lines={12} />
          <Loading label="The preview is loading" lines={12} />
        </div>
      ) : (
        <RoutingForm
          key={id}
          workspace={workspace}
          saved={preferences.data}
          models={models.data}
          edit={edits[id]}
          onEdit={(edit) => setEdits((before) => ({ ...before, [id]: edit }))}
        />
      )}
    </Page>
  );
}

/** Settings with unsaved changes. */
interface Edit {
  /** The saved preferences at the first change. */
  readonly before: Preferences;
  readonly draft: Draft;
}

interface RoutingFormProps {
  readonly workspace: WorkspaceAnswer;
  readonly saved: Preferences;
  readonly models: readonly ModelAnswer[];
  /** Undefined without unsaved changes. */
  readonly edit: Edit | undefined;
  readonly onEdit: (edit: Edit | undefined) => void;
}

/** The settings of one workspace, the preview beside them, and the bar that saves. */
function RoutingForm({ workspace, saved, models, edit, onEdit }: RoutingFormProps) {
  const client = useQueryClient();
  const before = edit?.before ?? saved;
  const draft = edit?.draft ?? draftOf(saved);
  const { preferences, problems } = readDraft(draft);
  const changed = changedSettings(before, preferences);
  const isWrong = Object.keys(problems).length > 0;
  const mayWrite = isRoleAtLeast(workspace.role, 'admin');

  const saving = useChange({
    mutationFn: async () => {
      // PUT replaces all preferences: read them first, to keep what others changed meanwhile.
      const now = await client.fetchQuery({ ...preferencesQuery(workspace.id), staleTime: 0 });
      return call('PUT /v1/routing/preferences', {
        query: { workspace_id: workspace.id },
        body: mergeChanges(before, preferences, now),
      });
    },
    onSuccess: (now) => {
      client.setQueryData(preferencesQuery(workspace.id).queryKey, now);
      onEdit(undefined);
    },
    says: 'Saved. It applies from the next request.',
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

interface UnsavedBarProps {
  /** The settings that differ from the saved ones, by name. */
  readonly changed: readonly string[];
  /** Why they cannot be saved as they are. */
  readonly problem: string | undefined;
  readonly busy: boolean;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}

/** Lists the unsaved settings at the foot of the page. */
function UnsavedBar({ changed, problem, busy, onSave, onDiscard }: UnsavedBarProps) {
  return (
    <section
      aria-label="Unsaved changes"
      className="sticky bottom-0 z-20 -mx-4 border-t border-line-strong bg-surface px-4 py-3 shadow-lg sm:-mx-6 sm:px-6 lg:-mx-8 lg:px-8"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <p role="status" className="font-medium">
            {sentenceOn(changed.length)}
            {changed.length > 0 && <span className="font-normal text-muted">: {changed.join(', ')}</span>}
          </p>
          {problem !== undefined && (
            <p role="alert" className="text-sm text-danger">
              <Sentence text={problem} />
            </p>
          )}
        </div>
        <div className="flex gap-2">
          <Button onClick={onDiscard} disabled={busy}>
            Discard
          </Button>
          <Button look="primary" busy={busy} onClick={onSave}>
            Save
          </Button>
        </div>
      </div>
    </section>
  );
}

function sentenceOn(count: number): string {
  if (count === 0) return 'Correct the marked fields to save';
  return `${formatCountOf(count, 'setting')} ${count === 1 ? 'is' : 'are'} not saved`;
}

/** Asks before the user leaves the page with unsaved changes. */
function LeaveGuard({ isUnsaved }: { isUnsaved: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isUnsaved && current.pathname !== next.pathname,
    enableBeforeUnload: isUnsaved,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      open={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      title="Leave without saving?"
      consequence="You will lose your changes to the routing settings."
      action="Leave"
      onConfirm={() => blocker.proceed?.()}
    />
  );
}
