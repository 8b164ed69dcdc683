import type { ModelAnswer } from '@sotto/wire';
import { Trash2 } from 'lucide-react';
import { makeTabState } from '../../../session/tab-state.ts';
import { Button } from '../../../ui/button.tsx';
import { Card } from '../../../ui/surface.tsx';
import type { OpenWay } from '../open-way.ts';
import type { Way } from '../playground-search.ts';
import { type ChatSettings, chatBody, effortsOf, providersOf } from './chat-settings.ts';
import { Composer } from './composer.tsx';
import { messagesOf } from './conversation.ts';
import { TurnView } from './turn-view.tsx';
import { useChat } from './use-chat.ts';

export interface ChatPanelProps {
  readonly modelId: string;
  /** Undefined: `/auto`. */
  readonly model: ModelAnswer | undefined;
  readonly models: readonly ModelAnswer[];
  readonly settings: ChatSettings;
  readonly way: Way;
  readonly open: () => Promise<OpenWay>;
  /** Why nothing can be sent now. */
  readonly obstacle: string | undefined;
}

const question = makeTabState('');

/** A conversation with a model. */
export function ChatPanel({ modelId, model, models, settings, way, open, obstacle }: ChatPanelProps) {
  const { turns, isRunning, ask, stop, clear } = useChat();
  const text = question.use();
  const send = (asked: string, again = false): void =>
    ask({
      text: asked,
      way,
      open,
      again,
      bodyAfter: (earlier) =>
        chatBody(settings, {
          model: modelId,
          messages: messagesOf(settings.system, earlier, asked),
          efforts: effortsOf(model),
          providers: providersOf(model === undefined ? models : [model]),
        }),
    });
  const last = turns.at(-1);
  return (
    <Card
      title="Conversation"
      lead="It stays in this tab, and is gone when you reload it."
      actions={
        turns.length > 0 && (
          <Button small icon={<Trash2 aria-hidden className="size-4" />} onClick={clear}>
            Clear
          </Button>
        )
      }
    >
      <div className="space-y-6">
        {turns.length > 0 && (
          <ol className="space-y-8" aria-label="Conversation">
            {turns.map((turn) => (
              <TurnView key={turn.id} turn={turn} askedModel={modelId} />
            ))}
          </ol>
        )}
        <p role="status" className="sr-only">
          {announcementOf(last?.state)}
        </p>
        {last !== undefined && !isRunning && (
          <Button small disabled={obstacle !== undefined} onClick={() => send(last.question, true)}>
            Ask again
          </Button>
        )}
        <Composer
          label="Your question"
          text={text}
          onText={(typed) => question.update(() => typed)}
          isRunning={isRunning}
          obstacle={obstacle}
          onStop={stop}
          onSend={() => {
            send(text.trim());
            question.update(() => '');
          }}
        />
      </div>
    </Card>
  );
}

/** What readers hear: that something comes, and how it ended; not every piece. */
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
