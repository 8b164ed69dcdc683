import { refusalOf } from '../../../api/errors.ts';
import { makeTabState } from '../../../session/tab-state.ts';
import type { OpenWay } from '../open-way.ts';
import type { Way } from '../playground-search.ts';
import { useSurroundings } from '../surroundings.ts';
import type { RequestBody } from './chat-settings.ts';
import { factsOf, type Turn } from './conversation.ts';
import { readError, readStream } from './read-stream.ts';

interface Running {
  readonly id: string;
  readonly controller: AbortController;
}

interface Conversation {
  readonly turns: readonly Turn[];
  readonly running: Running | undefined;
}

const empty: Conversation = { turns: [], running: undefined };
/** The conversation with the chosen model, and one with the model that is compared with it. */
const conversations = { chosen: makeTabState(empty), compared: makeTabState(empty) };
type Lane = keyof typeof conversations;

interface Question {
  readonly text: string;
  readonly way: Way;
  readonly open: () => Promise<OpenWay>;
  /** The body, given the turns that came before. */
  readonly bodyAfter: (turns: readonly Turn[]) => RequestBody;
  /** Whether it takes the place of the last exchange. */
  readonly again?: boolean;
}

/** The conversation of this tab: it goes on while other pages are looked at, and ends with the tab. */
export function useChat(lane: Lane) {
  const { use, update } = conversations[lane];
  const { turns, running } = use();
  const { onCharged } = useSurroundings();

  const ask = ({ text, way, open, bodyAfter, again = false }: Question): void => {
    const id = crypto.randomUUID();
    const controller = new AbortController();
    const earlier = again ? turns.slice(0, -1) : turns;
    const body = bodyAfter(earlier);
    const turn: Turn = {
      id,
      question: text,
      state: 'waiting',
      text: '',
      reasoning: '',
      facts: { way, askedModel: body.model },
    };
    update(() => ({ turns: [...earlier, turn], running: { id, controller } }));
    const onChange = (part: Partial<Turn>): void =>
      update((before) => {
        // The user has signed out or cleared the conversation.
        if (!before.turns.some((one) => one.id === id)) controller.abort();
        return { ...before, turns: before.turns.map((one) => (one.id === id ? { ...one, ...part } : one)) };
      });
    void askChat({ way, open, body, signal: controller.signal, onChange }).then(() => {
      update((before) => (before.running?.id === id ? { ...before, running: undefined } : before));
      onCharged();
    });
  };

  return {
    turns,
    isRunning: running !== undefined,
    ask,
    stop: () => running?.controller.abort(),
    clear: () => {
      running?.controller.abort();
      update(() => empty);
    },
  };
}

interface AskChatOptions {
  readonly way: Way;
  /** Opens the way, or returns the open one. */
  readonly open: () => Promise<OpenWay>;
  readonly body: RequestBody;
  readonly signal: AbortSignal;
  /** Receives the changes of the turn, at most every `redrawMs` while it streams. */
  readonly onChange: (part: Partial<Turn>) => void;
}

const redrawMs = 40;

/** Sends one question and reports its answer as it arrives, or its error. Never throws. */
async function askChat({ way, open, body, signal, onChange }: AskChatOptions): Promise<void> {
  const startedAt = performance.now();
  let text = '';
  let reasoning = '';
  let facts: Turn['facts'] = { way, askedModel: body.model };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (part: Partial<Turn> = {}): void => {
    clearTimeout(timer);
    timer = undefined;
    onChange({ text, reasoning, facts, ...part });
  };
  try {
    const opened = await open();
    signal.throwIfAborted();
    const answer = await opened.send('/chat/completions', body, signal);
    facts = { ...facts, ...factsOf(answer.headers) };
    facts = { ...facts, ...(await opened.vouched({ ...facts, model: facts.askedModel })) };
    if (!answer.ok) throw await refusalOf(answer);
    show({ state: 'streaming' });
    await readStream(answer, (piece) => {
      text += piece.text;
      reasoning += piece.reasoning;
      const isFirst = facts.firstTokenMs === undefined && text + reasoning !== '';
      facts = {
        ...facts,
        model: piece.model,
        ...(piece.usage === undefined ? {} : { usage: piece.usage }),
        ...(isFirst ? { firstTokenMs: performance.now() - startedAt } : {}),
      };
      timer ??= setTimeout(show, redrawMs);
    });
    facts = { ...facts, totalMs: performance.now() - startedAt };
    show({ state: 'done' });
  } catch (error) {
    facts = { ...facts, totalMs: performance.now() - startedAt };
    if (signal.aborted) show({ state: 'stopped' });
    else show({ state: 'failed', error: readError(error) });
  }
}
