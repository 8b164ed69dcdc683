import { refusalOf } from '../../../api/call.ts';
import type { OpenWay } from '../open-way.ts';
import type { Way } from '../playground-search.ts';
import { factsOf } from './answer-headers.ts';
import type { Turn } from './conversation.ts';
import { incomplete, readStream } from './read-stream.ts';

export interface AskChatOptions {
  readonly way: Way;
  /** Opens the way, or has it open. */
  readonly open: () => Promise<OpenWay>;
  readonly body: object;
  readonly signal: AbortSignal;
  /** Told of what is new of the turn: at most every few tens of milliseconds while it streams. */
  readonly onChange: (part: Partial<Turn>) => void;
}

const redrawMs = 40;

/** Asks one question and reports how its answer comes in, to the end whichever it is. Never throws. */
export async function askChat({ way, open, body, signal, onChange }: AskChatOptions): Promise<void> {
  const startedAt = performance.now();
  let text = '';
  let reasoning = '';
  let facts: Turn['facts'] = { way };
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
    facts = { ...facts, ...factsOf(answer.headers), ...opened.vouched() };
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
    // The connection was lost in the middle.
    else show({ state: 'failed', error: error instanceof TypeError ? incomplete() : error });
  }
}
