import type { ModelAnswer } from '@sotto/wire';
import clsx from 'clsx';
import { ArrowUp, Square, Trash2 } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef } from 'react';
import { formatCountOf } from '../../../format/format.ts';
import { makeTabState } from '../../../session/tab-state.ts';
import { Button } from '../../../ui/button.tsx';
import { Card, Notice } from '../../../ui/surface.tsx';
import { PrivacyPath } from '../../../verification/privacy-path.tsx';
import { simulationAllowed } from '../../../verification/simulation-allowed.ts';
import { ConsentButton } from '../consent-button.tsx';
import type { OpenWay } from '../open-way.ts';
import type { Way } from '../playground-search.ts';
import { ScriptNote } from '../script-note.tsx';
import { useSurroundings } from '../surroundings.ts';
import { type ChatSettings, chatBody, effortsOf, outputOf, providersOf } from './chat-settings.ts';
import { isKeptFrom, messagesOf } from './conversation.ts';
import { TurnView } from './turn-view.tsx';
import { useChat } from './use-chat.ts';

interface ChatPanelProps {
  readonly modelId: string;
  /** Undefined: `/auto`. */
  readonly model: ModelAnswer | undefined;
  /** Another model that gets the same questions. */
  readonly compared: ModelAnswer | undefined;
  readonly models: readonly ModelAnswer[];
  readonly settings: ChatSettings;
  readonly way: Way;
  readonly open: () => Promise<OpenWay>;
  /** The reason why nothing can be sent now. */
  readonly obstacle: string | undefined;
}

const question = makeTabState('');

/** A conversation with a model, or the same questions to two models side by side. */
export function ChatPanel({ modelId, model, compared, models, settings, way, open, obstacle }: ChatPanelProps) {
  const chats = { chosen: useChat('chosen'), compared: useChat('compared') };
  const text = question.use();
  const lanes: readonly LaneProps[] = [
    { lane: 'chosen' as const, id: modelId, model },
    ...(compared === undefined ? [] : [{ lane: 'compared' as const, id: compared.id, model: compared }]),
  ].map(({ lane, id, model: asked }) => ({
    ...{ chat: chats[lane], modelId: id, way, obstacle },
    send: (typed, again = false) =>
      chats[lane].ask({
        text: typed,
        way,
        open,
        again,
        bodyAfter: (earlier) =>
          chatBody(settings, {
            model: id,
            messages: messagesOf(settings.system, earlier, typed, way),
            usualOutput: outputOf(asked),
            efforts: effortsOf(asked),
            providers: providersOf(asked === undefined ? models : [asked]),
          }),
      }),
  }));
  const isEmpty = lanes.every(({ chat }) => chat.turns.length === 0);
  const isRunning = lanes.some(({ chat }) => chat.isRunning);
  const sendAll = (typed: string): void => {
    for (const { send } of lanes) send(typed);
  };
  const composer = (
    <div className="space-y-2">
      <Composer
        text={text}
        onText={(typed) => question.update(() => typed)}
        isRunning={isRunning}
        obstacle={obstacle}
        onStop={() => {
          for (const { chat } of lanes) chat.stop();
        }}
        onSend={() => {
          sendAll(text.trim());
          question.update(() => '');
        }}
      />
      <ScriptNote className="px-3" />
    </div>
  );
  return (
    <Card
      title="Conversation"
      lead="It stays in this tab, and a reload deletes it."
      actions={
        !isEmpty && (
          <Button
            small
            icon={<Trash2 aria-hidden className="size-4" />}
            onClick={() => {
              for (const chat of Object.values(chats)) chat.clear();
            }}
          >
            Clear
          </Button>
        )
      }
    >
      <div className="space-y-6">
        {isEmpty ? (
          <>
            {composer}
            <BeforeTheFirst
              way={way}
              onExample={(example) => (obstacle === undefined ? sendAll(example) : question.update(() => example))}
            />
          </>
        ) : (
          <>
            <div className={clsx('grid gap-8', lanes.length > 1 && 'xl:grid-cols-2')}>
              {lanes.map((lane) => (
                <Lane key={lane.modelId} {...lane} isNamed={lanes.length > 1} />
              ))}
            </div>
            {composer}
          </>
        )}
      </div>
    </Card>
  );
}

interface LaneProps {
  readonly chat: ReturnType<typeof useChat>;
  readonly modelId: string;
  readonly way: Way;
  readonly obstacle: string | undefined;
  readonly send: (text: string, again?: boolean) => void;
}

/** The exchanges with one model. */
function Lane({ chat: { turns, isRunning }, modelId, way, obstacle, send, isNamed }: LaneProps & { isNamed: boolean }) {
  const last = turns.at(-1);
  const kept = turns.filter((turn) => isKeptFrom(way, turn)).length;
  return (
    <section aria-label={isNamed ? modelId : 'Answers'} className="min-w-0 space-y-6">
      {isNamed && <h3 className="border-b border-line pb-2 font-medium break-all">{modelId}</h3>}
      {turns.length > 0 && (
        <ol className="space-y-8" aria-label={isNamed ? `Conversation with ${modelId}` : 'Conversation'}>
          {turns.map((turn) => (
            <TurnView key={turn.id} turn={turn} isLast={turn === last} />
          ))}
        </ol>
      )}
      <p role="status" className="sr-only">
        {announcementOf(last?.state)}
      </p>
      {last !== undefined && !isRunning && !isKeptFrom(way, last) && (
        <Button small disabled={obstacle !== undefined} onClick={() => send(last.question, true)}>
          Ask again
        </Button>
      )}
      {kept > 0 && (
        <Notice>
          {`${formatCountOf(kept, 'earlier exchange')} went in a more private mode, so the next question does not repeat ${kept === 1 ? 'it' : 'them'}. The model sees only what follows.`}
        </Notice>
      )}
    </section>
  );
}

const examples = [
  'Explain remote attestation in two sentences.',
  'Write a polite e-mail that moves a meeting to Friday.',
  'What is the difference between TCP and UDP?',
];

/** Says who will learn what, and offers questions to begin with, which are sent at once if nothing is missing. */
function BeforeTheFirst({ way, onExample }: { way: Way; onExample: (example: string) => void }) {
  const { isOneProcess } = useSurroundings();
  return (
    <div className="space-y-4">
      <p className="text-sm text-muted">
        Each answer comes with a receipt like this: who received what, and what was checked.
      </p>
      <PrivacyPath label="Who will learn what" way={way} isOneProcess={isOneProcess} />
      <div className="flex flex-wrap gap-2">
        {examples.map((example) => (
          <Button
            key={example}
            small
            className="h-auto py-1 text-left whitespace-normal!"
            onClick={() => onExample(example)}
          >
            {example}
          </Button>
        ))}
      </div>
    </div>
  );
}

/** Read out by screen readers: the start and the end of an answer, not every piece. */
function announcementOf(state: string | undefined): string {
  switch (state) {
    case 'waiting':
      return 'The question was sent.';
    case 'streaming':
      return 'The answer is coming in.';
    case 'done':
      return 'The answer is complete.';
    case 'stopped':
      return 'The answer was stopped.';
    default:
      return '';
  }
}

interface ComposerProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly isRunning: boolean;
  /** The reason why nothing can be sent now. */
  readonly obstacle: string | undefined;
}

/** The field for the question. Enter sends; Shift+Enter starts a new line. */
function Composer({ text, onText, onSend, onStop, isRunning, obstacle }: ComposerProps) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const canSend = obstacle === undefined && !isRunning && text.trim() !== '';
  const allowsSimulated = simulationAllowed.use();
  const allowedBefore = useRef(allowsSimulated);
  // The user may agree further down the page, and goes on here.
  useEffect(() => {
    if (allowsSimulated && !allowedBefore.current) {
      form.current?.scrollIntoView({ block: 'nearest' });
      // The button that had the focus is gone.
      if (document.activeElement === document.body) form.current?.querySelector('textarea')?.focus();
    }
    allowedBefore.current = allowsSimulated;
  }, [allowsSimulated]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (canSend) onSend();
    else form.current?.querySelector<HTMLElement>('[data-consent]')?.focus();
  };
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) onSend();
      }}
      className="scroll-my-20 rounded-2xl border border-line-strong bg-surface p-2 has-[textarea:focus-visible]:outline-2 has-[textarea:focus-visible]:outline-accent"
    >
      <label htmlFor={id} className="sr-only">
        Your question
      </label>
      <textarea
        id={id}
        rows={3}
        value={text}
        placeholder="Ask something"
        aria-describedby={`${id}-hint`}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
        className="block max-h-72 w-full resize-none bg-transparent px-2 py-1 field-sizing-content outline-none"
      />
      <div className="flex items-center justify-between gap-3 px-1">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <p id={`${id}-hint`} className="text-sm text-muted">
            {obstacle ?? 'Enter sends, Shift+Enter begins a new line.'}
          </p>
          <ConsentButton obstacle={obstacle} />
        </div>
        {isRunning ? (
          <Button small onClick={onStop} icon={<Square aria-hidden className="size-3.5" />}>
            Stop
          </Button>
        ) : (
          <Button
            small
            type="submit"
            look="primary"
            disabled={!canSend}
            icon={<ArrowUp aria-hidden className="size-4" />}
          >
            Send
          </Button>
        )}
      </div>
    </form>
  );
}
