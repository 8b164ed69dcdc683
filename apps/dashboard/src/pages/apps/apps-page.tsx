import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { capabilitiesQuery } from '../../api/capabilities.ts';
import { Loading } from '../../ui/skeleton.tsx';
import { EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { ConnectedApps } from './connected-apps.tsx';
import { DeveloperApps } from './developer-apps.tsx';

/** `/apps`: apps that this person has connected, and those that they have registered as a developer. */
export function AppsPage() {
  const { view = 'connected' } = useSearch({ from: '/session/apps' });
  const navigate = useNavigate({ from: '/apps' });
  const { data: capabilities, error, refetch } = useQuery(capabilitiesQuery);
  return (
    <Page title="Connected apps" lead="Apps that act for you without ever holding a key of yours, each up to a limit.">
      {capabilities === undefined && error === null && <Loading label="Connected apps are loading" />}
      {capabilities === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {capabilities?.connected_apps.enabled === false && (
        <EmptyState
          title="Apps cannot connect here"
          text="Whoever runs this service has connected apps switched off. Your keys work as ever."
        />
      )}
      {capabilities?.connected_apps.enabled === true && (
        <Tabs
          label="Connected apps"
          value={view}
          onChange={(chosen) =>
            void navigate({ search: chosen === 'connected' ? {} : { view: chosen }, replace: true })
          }
          tabs={[
            { value: 'connected', label: 'Connected', content: <ConnectedApps /> },
            { value: 'developer', label: 'For developers', content: <DeveloperApps /> },
          ]}
        />
      )}
    </Page>
  );
}
