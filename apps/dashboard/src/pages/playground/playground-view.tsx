import type { ReactNode } from 'react';
import { autoOption, modelOptions } from '../../models/model-options.ts';
import { makeTabState } from '../../session/tab-state.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { Card, EmptyState } from '../../ui/surface.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { wayWords } from '../../verification/privacy-path.tsx';
import { ChatPanel } from './chat/chat-panel.tsx';
import { initialSettings, problemsOf } from './chat/chat-settings.ts';
import { Parameters } from './chat/parameters.tsx';
import { ImagePanel, SpeechPanel } from './media/media-panels.tsx';
import { NarrowFold } from './narrow-fold.tsx';
import type { OpenWay } from './open-way.ts';
import type { Mode, PlaygroundSearch } from './playground-search.ts';
import { needsSetup } from './standing.ts';
import { WayCard } from './way-card.tsx';
import type { Chosen } from './what-is-offered.ts';

interface PlaygroundViewProps {
  readonly modes: readonly Mode[];
  readonly chosen: Chosen;
  /** Receives the changed choices; another mode forgets the others. */
  readonly onChoose: (part: PlaygroundSearch) => void;
  readonly open: () => Promise<OpenWay>;
  /** The reason why nothing can be sent now. */
  readonly obstacle: string | undefined;
  /** Where the key is chosen. Absent if the page does not hold it. */
  readonly keyCard?: ReactNode;
  /** What one must know of the setup before sending, while it is folded. */
  readonly notes: readonly string[];
  /** The verification of the machine that would read content. */
  readonly verification: ReactNode;
}

const chatSettings = makeTabState(initialSettings);

const modeNames: Readonly<Record<Mode, string>> = { chat: 'Chat', image: 'Image', speech: 'Speech' };

/** Model, key, way and parameters on one side; question and answer on the other. */
export function PlaygroundView({ modes, chosen, onChoose, open, keyCard, notes, ...props }: PlaygroundViewProps) {
  const { mode, models, modelId, model, compared, offersAuto, way, ways } = chosen;
  const settings = chatSettings.use();
  const problems = problemsOf(settings);
  const isMistaken = mode === 'chat' && Object.keys(problems).length > 0;
  const obstacle = isMistaken ? 'Correct the marked parameter.' : props.obstacle;
  const panel =
    mode === 'chat' ? (
      <ChatPanel
        modelId={modelId}
        model={model}
        compared={compared}
        models={models}
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
      {/* On a phone the question stands above the settings. */}
      <div className="min-w-0">{panel}</div>
      <NarrowFold
        label="Setup"
        summary={[...notes, wayWords[way].label, modelId].join(' · ')}
        isNeeded={needsSetup(obstacle)}
      >
        <div className="space-y-4">
          <Card>
            <h2 className="sr-only">Model</h2>
            <Combobox
              label="Model"
              value={modelId}
              options={[...(offersAuto ? [autoOption] : []), ...modelOptions(models)]}
              onChange={(id) => onChoose({ model: id })}
            />
            {mode === 'chat' && models.length > 1 && (
              <Combobox
                className="mt-3"
                label="Compare with"
                value={compared?.id ?? ''}
                options={[
                  { value: '', label: 'No other model' },
                  ...modelOptions(models.filter(({ id }) => id !== modelId)),
                ]}
                onChange={(id) => onChoose({ compare: id === '' ? undefined : id })}
              />
            )}
          </Card>
          {keyCard}
          <WayCard way={way} offered={ways} onChange={(one) => onChoose({ way: one })}>
            {props.verification}
          </WayCard>
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
                    models={models}
                  />
                </div>
              </details>
            </Card>
          )}
        </div>
      </NarrowFold>
    </div>
  );
  if (modes.length === 1) return content;
  return (
    <Tabs
      label="What to ask for"
      value={mode}
      onChange={(one) => onChoose({ mode: one })}
      tabs={modes.map((one) => ({
        value: one,
        label: modeNames[one],
        content: one === mode ? content : null,
      }))}
    />
  );
}
