import type { PlaygroundStanding } from '@sotto/client/playground';
import type { ModelAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { isOffered } from '../models/model-options.ts';
import { changed, type Mode, type PlaygroundSearch, type Way } from '../pages/playground/playground-search.ts';
import { PlaygroundView } from '../pages/playground/playground-view.tsx';
import { standingNotes } from '../pages/playground/standing.ts';
import { SurroundingsProvider } from '../pages/playground/surroundings.ts';
import { chooseFrom, modelsOf } from '../pages/playground/what-is-offered.ts';
import { EmptyState, ErrorState, Loading, Page } from '../ui/surface.tsx';
import { commandModelsQuery, standingQuery } from './ask-command.ts';
import { commandSurroundings } from './command-surroundings.tsx';
import { CommandVerification } from './command-verification.tsx';
import { commandWay } from './command-way.ts';

/** The page of `sotto playground`. The command holds the key, verifies the service and sends the content. */
export function StandalonePage() {
  const standing = useQuery(standingQuery);
  const models = useQuery(commandModelsQuery);
  const failed = [standing, models].find(({ error, data }) => error !== null && data === undefined);
  const isLoaded = standing.data !== undefined && models.data !== undefined;
  return (
    <main>
      <Page
        title="Playground"
        lead="Your messages go from this page to the sotto command on this machine, which sends them only to the broker."
      >
        {failed !== undefined ? (
          <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />
        ) : !isLoaded ? (
          <Loading label="The playground is loading" lines={10} />
        ) : (
          <Standalone standing={standing.data} models={models.data} />
        )}
      </Page>
    </main>
  );
}

interface StandaloneProps {
  readonly standing: PlaygroundStanding;
  readonly models: readonly ModelAnswer[];
}

/** The playground with choices of its own, and what the command offers. */
function Standalone({ standing: { controlOrigin, isOneProcess, e2eeOnly, gateway }, models }: StandaloneProps) {
  const [search, setSearch] = useState<PlaygroundSearch>({});
  const surroundings = useMemo(
    () => commandSurroundings({ controlOrigin, isOneProcess }),
    [controlOrigin, isOneProcess],
  );
  const offered = offeredBy(models, e2eeOnly);
  if (!offered.models.some(isOffered)) {
    return <EmptyState title="There are no models" text={e2eeOnly ? noneSealed : 'The operator has not listed any.'} />;
  }
  const chosen = chooseFrom(offered, search);
  return (
    <SurroundingsProvider value={surroundings}>
      <PlaygroundView
        modes={offered.modes}
        chosen={chosen}
        onChoose={(part) => setSearch(changed(search, part))}
        open={async () => commandWay(chosen.way)}
        obstacle={undefined}
        notes={standingNotes(gateway)}
        verification={<CommandVerification gateway={gateway} />}
      />
    </SurroundingsProvider>
  );
}

const noneSealed = 'The command was started with --e2ee, and no model has a provider that takes encrypted chats.';

const privateWays: readonly Way[] = ['private', 'e2ee'];

/** With `--e2ee` the command refuses whatever cannot be encrypted. */
function offeredBy(models: readonly ModelAnswer[], e2eeOnly: boolean) {
  if (!e2eeOnly) {
    const media = (['image', 'speech'] as const).filter((mode) => modelsOf(models, mode).length > 0);
    return { models, modes: ['chat', ...media] as readonly Mode[], ways: privateWays };
  }
  const sealed = models.filter(({ provider_routes: routes }) =>
    routes.some(({ privacy_class }) => privacy_class === 'e2ee'),
  );
  return { models: sealed, modes: ['chat'] as readonly Mode[], ways: ['e2ee'] as readonly Way[] };
}
