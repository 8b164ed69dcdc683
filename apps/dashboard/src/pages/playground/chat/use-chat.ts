import { useQueryClient } from '@tanstack/react-query';
import { balanceQuery } from '../../../api/balance.ts';
import { makeTabState } from '../../../session/tab-state.ts';
import type { OpenWay } from '../open-way.ts';
import type { Way } from '../playground-search.ts';
import { askChat } from './ask-chat.ts';
import type { Turn } from './conversation.ts';

interface Running {
  readonly id: string;
  readonly controller: AbortController;
}

interface Conversation {
  readonly turns: readonly Turn[];
  readonly running: Running | undefined;
}

const empty: Conversation = { turns: [], running: undefined };
const conversation = makeTabState(empty);
const { update } = conversation;

export interface Question {
  readonly text: string;
  readonly way: Way;
  readonly open: () => Promise<OpenWay>;
  /** The body, given the turns that came before. */
  readonly bodyAfter: (turns: readonly Turn[]) => object;
  /** Whether it takes the place of the last exchange. */
  readonly again?: boolean;
}

/** The conversation of this tab: it goes on while other pages are looked at, and ends with the tab. */
export function useChat() {
  const { turns, running } = conversation.use();
  const client = useQueryClient();

  const ask = ({ text, way, open, bodyAfter, again = false }: Question): void => {
    const id = crypto.randomUUID();
    const controller = new AbortController();
    const earlier = again ? turns.slice(0, -1) : turns;
    const body = bodyAfter(earlier);
    const turn: Turn = { id, question: text, state: 'waiting', text: '', reasoning: '', facts: { way } };
    update(() => ({ turns: [...earlier, turn], running: { id, controller } }));
    const onChange = (part: Partial<Turn>): void =>
      update((before) => {
        // Whoever asked has signed out, or began anew.
        if (!before.turns.some((one) => one.id === id)) controller.abort();
        return { ...before, turns: before.turns.map((one) => (one.id === id ? { ...one, ...part } : one)) };
      });
    void askChat({ way, open, body, signal: controller.signal, onChange }).then(() => {
      update((before) => (before.running?.id === id ? { ...before, running: undefined } : before));
      void client.invalidateQueries({ queryKey: balanceQuery.queryKey });
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
