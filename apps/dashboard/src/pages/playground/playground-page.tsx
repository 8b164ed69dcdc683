import type { CapabilitiesAnswer, ModelAnswer, WorkspaceAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import clsx from 'clsx';
import { ChevronDown } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { capabilitiesQuery, modelsQuery } from '../../api/queries.ts';
import { KeyCard } from '../../inference-key/key-card.tsx';
import { useTabKey } from '../../inference-key/tab-key.ts';
import { autoOption, isOffered, modelOptions } from '../../models/model-options.ts';
import { makeTabState } from '../../session/tab-state.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { Card, EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { gatewayVerificationQuery, ownPins } from '../../verification/client.ts';
import { wayWords } from '../../verification/privacy-path.tsx';
import { EmptyBalanceNotice, useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { ChatPanel } from './chat/chat-panel.tsx';
import { initialSettings, problemsOf } from './chat/chat-settings.ts';
import { Parameters } from './chat/parameters.tsx';
import { ImagePanel, SpeechPanel } from './media/media-panels.tsx';
import { useWay } from './open-way.ts';
import type { Mode, PlaygroundSearch } from './playground-search.ts';
import { obstacleOf } from './standing.ts';
import { WayCard } from './way-card.tsx';
import { chosenModel, modelsOf, waysFor } from './what-is-offered.ts';

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
        <>
          <EmptyBalanceNotice workspace={workspace} />
          <Playground key={workspace.id} workspace={workspace} models={models.data} capabilities={capabilities} />
        </>
      )}
    </Page>
  );
}

interface PlaygroundProps {
  readonly workspace: WorkspaceAnswer;
  readonly models: readonly ModelAnswer[];
  readonly capabilities: CapabilitiesAnswer;
}

const chatSettings = makeTabState(initialSettings);
const simulationAllowed = makeTabState(false);

const modeNames: Readonly<Record<Mode, string>> = { chat: 'Chat', image: 'Image', speech: 'Speech' };

/** Model, key, way and parameters on one side; question and answer on the other. */
function Playground({ workspace, models, capabilities }: PlaygroundProps) {
  const search = useSearch({ from: '/session/playground' });
  const navigate = useNavigate({ from: '/playground' });
  const [tabKey, setTabKey] = useTabKey(workspace.id);
  const settings = chatSettings.use();
  const allowSimulated = simulationAllowed.use();

  const offeredModes: readonly Mode[] = [
    'chat',
    ...(capabilities.image_generation.enabled ? (['image'] as const) : []),
    ...(capabilities.speech_synthesis.enabled ? (['speech'] as const) : []),
  ];
  const mode = offeredModes.find((one) => one === search.mode) ?? 'chat';
  const ofMode = modelsOf(models, mode);
  const modelId = chosenModel(ofMode, mode, search.model);
  const model = ofMode.find(({ id }) => id === modelId);
  const offeredWays = waysFor(mode, model);
  const way = offeredWays.find((one) => one === search.way) ?? offeredWays[0] ?? 'private';
  const pins = ownPins.use();
  const verification = useQuery({ ...gatewayVerificationQuery(pins), enabled: way !== 'compatibility' });
  const problems = problemsOf(settings);
  const open = useWay(tabKey && { way, key: tabKey.key, allowSimulated, pins });
  const obstacle =
    mode === 'chat' && Object.keys(problems).length > 0
      ? 'Correct the marked parameter.'
      : obstacleOf({ hasKey: tabKey !== undefined, way, verification: verification.data, allowSimulated });

  const go = (part: PlaygroundSearch): void =>
    void navigate({ search: { ...search, ...part }, replace: true, resetScroll: false });

  const panel =
    mode === 'chat' ? (
      <ChatPanel
        modelId={modelId}
        model={model}
        models={ofMode}
        settings={settings}
        way={way}
        open={open}
        obstacle={obstacle}
      />
    ) : model === undefined ? (
      <EmptyState title="No model does this here" text="The operator has not listed one in the catalog." />
    ) : mode === 'image' ? (
      <ImagePanel key={model.id} model={model} open={open} obstacle={obstacle} />
    ) : (
      <SpeechPanel key={model.id} model={model} open={open} obstacle={obstacle} />
    );
  const content = (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem] xl:grid-cols-[minmax(0,1fr)_24rem]">
      <NarrowFold
        label="Setup"
        summary={[modelId, wayWords[way].label, ...(tabKey === undefined ? ['no key yet'] : [])].join(' · ')}
        isNeeded={obstacle !== undefined}
        className="lg:order-2"
      >
        <div className="space-y-4">
          <Card>
            <h2 className="sr-only">Model</h2>
            <Combobox
              label="Model"
              value={modelId}
              options={[...(mode === 'chat' ? [autoOption] : []), ...modelOptions(ofMode)]}
              onChange={(chosen) => go({ model: chosen })}
            />
          </Card>
          <KeyCard workspace={workspace} tabKey={tabKey} onChange={setTabKey} />
          <WayCard
            way={way}
            offered={offeredWays}
            onChange={(chosen) => go({ way: chosen })}
            allowSimulated={allowSimulated}
            onAllowSimulated={(allowed) => simulationAllowed.update(() => allowed)}
          />
          {mode === 'chat' && (
            <Card>
              <details>
                <summary className="cursor-pointer font-semibold">
                  <h2 className="inline text-base font-semibold">Parameters</h2>
                </summary>
                <div className="mt-4">
                  <Parameters
                    settings={settings}
                    change={(part) => chatSettings.update((before) => ({ ...before, ...part }))}
                    problems={problems}
                    model={model}
                    models={ofMode}
                  />
                </div>
              </details>
            </Card>
          )}
        </div>
      </NarrowFold>
      <div className="min-w-0 lg:order-1">{panel}</div>
    </div>
  );
  if (offeredModes.length === 1) return content;
  return (
    <Tabs
      label="What to ask for"
      value={mode}
      onChange={(chosen) => void navigate({ search: chosen === 'chat' ? {} : { mode: chosen }, replace: true })}
      tabs={offeredModes.map((one) => ({
        value: one,
        label: modeNames[one],
        content: one === mode ? content : null,
      }))}
    />
  );
}

interface NarrowFoldProps {
  readonly label: string;
  /** One line about the content, shown while it is folded. */
  readonly summary: string;
  /** While something in it is missing it is open. It closes once nothing is. */
  readonly isNeeded: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

/** Shows its content on wide screens, and folds it to one line on narrow ones. */
function NarrowFold({ label, summary, isNeeded, className, children }: NarrowFoldProps) {
  const [chosen, setOpen] = useState<boolean>();
  const [wasNeeded, setWasNeeded] = useState(isNeeded);
  if (wasNeeded !== isNeeded) {
    setWasNeeded(isNeeded);
    setOpen(undefined);
  }
  const isOpen = chosen ?? isNeeded;
  const id = useId();
  return (
    <div className={clsx('min-w-0', className)}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-11 w-full items-center gap-3 rounded-2xl border border-line bg-surface px-4 py-2 text-left lg:hidden"
      >
        <span className="min-w-0 flex-1">
          <span className="block font-semibold">{label}</span>
          <span className="block truncate text-sm text-muted">{summary}</span>
        </span>
        <ChevronDown aria-hidden className={clsx('size-5 shrink-0 text-muted', isOpen && 'rotate-180')} />
      </button>
      <div id={id} className={clsx('max-lg:mt-4', !isOpen && 'max-lg:hidden')}>
        {children}
      </div>
    </div>
  );
}
