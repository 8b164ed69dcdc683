import type { CapabilitiesAnswer } from '@sotto/contract/control/catalog';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import type { ModelAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { capabilitiesQuery, modelsQuery } from '../../api/queries.ts';
import { KeyCard } from '../../inference-key/key-card.tsx';
import { useTabKey } from '../../inference-key/tab-key.ts';
import { isOffered } from '../../models/model-options.ts';
import { EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { gatewayVerificationQuery, ownPins } from '../../verification/client.ts';
import { simulationAllowed } from '../../verification/simulation-allowed.ts';
import { EmptyBalanceNotice, useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { mayMakeKeys } from '../keys/key-rules.ts';
import { DashboardSurroundings } from './dashboard-surroundings.tsx';
import { PageVerification } from './page-verification.tsx';
import { changed, type PlaygroundSearch, ways } from './playground-search.ts';
import { PlaygroundView } from './playground-view.tsx';
import { obstacleOf, standingNotes } from './standing.ts';
import { useTabWay } from './tab-way.ts';
import { chooseFrom } from './what-is-offered.ts';

/** `/playground`: sends requests from the browser, and shows provider, tier and cost of each answer. */
export function PlaygroundPage() {
  const { workspace } = useWorkspace();
  const models = useQuery(modelsQuery);
  const { data: capabilities } = useQuery(capabilitiesQuery);
  return (
    <Page title="Playground" lead="Your messages go from this browser only to the broker.">
      {models.error !== null && models.data === undefined ? (
        <ErrorState error={models.error} onRetry={() => void models.refetch()} />
      ) : models.data === undefined || workspace === undefined || capabilities === undefined ? (
        <WorkspaceLoading label="The playground is loading" lines={10} />
      ) : !models.data.some(isOffered) ? (
        <EmptyState title="There are no models yet" text="The operator has not listed any model in the catalog." />
      ) : (
        <DashboardSurroundings>
          <EmptyBalanceNotice workspace={workspace} />
          <Playground key={workspace.id} workspace={workspace} models={models.data} capabilities={capabilities} />
        </DashboardSurroundings>
      )}
    </Page>
  );
}

interface PlaygroundProps {
  readonly workspace: WorkspaceAnswer;
  readonly models: readonly ModelAnswer[];
  readonly capabilities: CapabilitiesAnswer;
}

/** The playground with the choices of the address, a key of the tab, and a verification by this browser. */
function Playground({ workspace, models, capabilities }: PlaygroundProps) {
  const search = useSearch({ from: '/session/playground' });
  const navigate = useNavigate({ from: '/playground' });
  const [tabKey, setTabKey] = useTabKey(workspace.id);
  const allowSimulated = simulationAllowed.use();
  const modes = [
    'chat' as const,
    ...(capabilities.image_generation.enabled ? (['image'] as const) : []),
    ...(capabilities.speech_synthesis.enabled ? (['speech'] as const) : []),
  ];
  const chosen = chooseFrom({ models, modes, ways }, search);
  const { way } = chosen;
  const pins = ownPins.use();
  const verification = useQuery({ ...gatewayVerificationQuery(pins), enabled: way !== 'compatibility' });
  const open = useTabWay(workspace, { way, allowSimulated, pins });
  // A key that a request creates is only for the private flow.
  const isAutomatic = way !== 'compatibility' && mayMakeKeys(workspace.role);
  const hasKey =
    way === 'compatibility' ? tabKey !== undefined && tabKey.made?.isCompatible !== false : tabKey !== undefined;
  const onChoose = (part: PlaygroundSearch): void =>
    void navigate({ search: changed(search, part), replace: true, resetScroll: false });
  return (
    <PlaygroundView
      modes={modes}
      chosen={chosen}
      onChoose={onChoose}
      open={open}
      obstacle={obstacleOf({
        ...{ hasKey: hasKey || isAutomatic, way, allowSimulated },
        ...{ verification: verification.data, isVerifying: verification.isPending },
      })}
      keyCard={<KeyCard workspace={workspace} tabKey={tabKey} onChange={setTabKey} isAutomatic={isAutomatic} />}
      notes={[
        ...(hasKey || isAutomatic ? [] : ['No key yet']),
        ...(way === 'compatibility' ? [] : standingNotes(verification.data)),
      ]}
      verification={
        way !== 'compatibility' && (
          <PageVerification
            allowSimulated={allowSimulated}
            onAllowSimulated={(allowed) => simulationAllowed.update(() => allowed)}
          />
        )
      }
    />
  );
}
