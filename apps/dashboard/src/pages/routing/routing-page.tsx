import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { useState } from 'react';
import { modelsQuery } from '../../api/models.ts';
import { preferencesQuery } from '../../api/preferences.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { ErrorState, Page } from '../../ui/surface.tsx';
import { useWorkspace } from '../../workspaces/workspaces.ts';
import { type Edit, RoutingForm } from './routing-form.tsx';
import { LeaveGuard } from './unsaved-bar.tsx';

/** `/routing`: what a workspace demands of routes, with what it does beside it. */
export function RoutingPage() {
  const { workspace } = useWorkspace();
  const id = workspace?.id ?? '';
  /** Of each workspace by itself: choosing another one loses nothing. */
  const [edits, setEdits] = useState<Readonly<Record<string, Edit | undefined>>>({});
  const preferences = useQuery({ ...preferencesQuery(id), enabled: workspace !== undefined });
  const models = useQuery(modelsQuery);
  const failed = [preferences, models].find(({ error, data }) => error !== null && data === undefined);
  return (
    <Page
      title="Routing"
      lead={`Which routes requests${workspace === undefined ? '' : ` of ${workspace.name}`} may take, and in which order. A request can tighten these settings, never loosen them.`}
      actions={
        <a href="#preview" className={clsx(buttonClass('plain'), 'xl:hidden')}>
          See the preview
        </a>
      }
    >
      <LeaveGuard isUnsaved={Object.values(edits).some((edit) => edit !== undefined)} />
      {failed !== undefined ? (
        <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />
      ) : workspace === undefined || preferences.data === undefined || models.data === undefined ? (
        <div className="grid gap-4 xl:grid-cols-2">
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
