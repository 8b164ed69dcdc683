import type { PrivacyClass } from '@sotto/wire';
import type { Turn } from './turns.ts';

/** The provider that answered last. Its caches have the conversation. */
export interface Served {
  /** Public id. Never `other`, which names many providers. */
  readonly provider: string;
  readonly privacyClass: PrivacyClass;
}

export interface Conversation {
  /** Undefined if no provider answered yet, or if the last one failed. */
  served: Served | undefined;
  /** Random. Only an enclave of the family `tinfoil` gets it, inside the sealed body: it separates its caches by it. */
  readonly cacheSecret: string;
}

interface Remembered {
  readonly conversation: Conversation;
  turns: readonly Turn[];
  usedAt: number;
}

export interface ConversationsOptions {
  readonly now: () => number;
  /** Makes the secret of a new conversation. */
  readonly newSecret: () => string;
}

/** Time in ms after which a conversation is forgotten. No provider promises to cache for longer. */
export const rememberedMs = 60 * 60_000;
export const maxConversations = 128;
/** The most turns that are compared. Later ones only prolong a conversation. */
const maxTurns = 2048;

/** Conversations of this process, by digests of their turns. It keeps no content. */
export class Conversations {
  readonly #options: ConversationsOptions;
  /** The least recently used first. */
  #remembered: Remembered[] = [];

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /**
   * Returns the conversation that a request continues, or a new one. It continues the one with which it shares the most turns
   * from the start. It is a branch of that one if both have an answer in common, but not the end. If several share as much,
   * it is new.
   */
  recognise(all: readonly Turn[]): Conversation {
    const now = this.#options.now();
    this.#remembered = this.#remembered.filter(({ usedAt }) => now - usedAt < rememberedMs);
    const turns = all.slice(0, maxTurns);
    const [longest, isAmbiguous] = this.#longestMatch(turns);
    const shared = longest === undefined || isAmbiguous ? 0 : sharedTurns(longest.turns, turns);
    if (longest !== undefined && shared > 0 && shared === longest.turns.length) {
      return this.#remember({ conversation: longest.conversation, turns, usedAt: now }, longest);
    }
    const isBranch = turns.slice(0, shared).some(({ role }) => role === 'assistant');
    const conversation =
      longest !== undefined && isBranch
        ? { ...longest.conversation }
        : { served: undefined, cacheSecret: this.#options.newSecret() };
    return this.#remember({ conversation, turns, usedAt: now });
  }

  #longestMatch(turns: readonly Turn[]): [longest: Remembered | undefined, isAmbiguous: boolean] {
    let longest: Remembered | undefined;
    let most = 0;
    let isAmbiguous = false;
    for (const each of this.#remembered) {
      const shared = sharedTurns(each.turns, turns);
      if (shared < most || shared === 0) continue;
      isAmbiguous = shared === most;
      longest = each;
      most = shared;
    }
    return [longest, isAmbiguous];
  }

  /** Puts an entry last, in place of `instead`. */
  #remember(entry: Remembered, instead?: Remembered): Conversation {
    const others = this.#remembered.filter((each) => each !== instead);
    // Without a turn, nothing would recognise it.
    this.#remembered = entry.turns.length === 0 ? others : [...others, entry].slice(-maxConversations);
    return entry.conversation;
  }
}

/** How many turns two conversations share from the start. */
function sharedTurns(one: readonly Turn[], other: readonly Turn[]): number {
  const end = one.findIndex(({ digest }, at) => other[at]?.digest !== digest);
  return end === -1 ? one.length : end;
}
