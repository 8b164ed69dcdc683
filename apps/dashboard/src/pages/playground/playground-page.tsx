import { useQuery } from '@tanstack/react-query';
import { capabilitiesQuery } from '../../api/capabilities.ts';
import { modelsQuery } from '../../api/models.ts';
import { Loading } from '../../ui/skeleton.tsx';
import { EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { EmptyBalanceNotice } from '../../workspaces/empty-balance-notice.tsx';
import { useWorkspace } from '../../workspaces/workspaces.ts';
import { Playground } from './playground.tsx';

/** `/playground`: ask in the browser, and see who answered, on what terms and for how much. */
export function PlaygroundPage() {
  const { workspace } = useWorkspace();
  const models = useQuery(modelsQuery);
  const { data: capabilities } = useQuery(capabilitiesQuery);
  return (
    <Page
      title="Playground"
      lead="What you write goes from this browser to the confidential origin, and nowhere else of this service."
    >
      {models.error !== null && models.data === undefined ? (
        <ErrorState error={models.error} onRetry={() => void models.refetch()} />
      ) : models.data === undefined || workspace === undefined || capabilities === undefined ? (
        <Loading label="The playground is loading" lines={10} />
      ) : models.data.every(({ provider_routes }) => provider_routes.length === 0) ? (
        <EmptyState title="There are no models yet" text="The operator has not listed any model in the catalog." />
      ) : (
        <>
          <EmptyBalanceNotice workspace={workspace} />
          <Playground key={workspace.id} workspace={workspace} models={models.data} capabilities={capabilities} />
        </>
      )}
    </Page>
  );
}
