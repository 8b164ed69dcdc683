import type { ReasoningSelection, SealedChat } from '@sotto/wire';
import { optionalParametersOf } from '../parameters/used-parameters.ts';
import type { RequestSize } from './attempt-limits.ts';
import { allowance } from './chat-needs.ts';
import { type Needs, noNeeds, reasoningNeeds } from './needs.ts';

/** What a relay knows of a chat request that it cannot read. */
export interface SealedMeasure {
  readonly reasoning: ReasoningSelection;
  /**
   * UTF-8 bytes of what was sealed: of the contents where each was sealed by itself, else of the whole JSON body. 0 where
   * it was packed, so that nobody knows.
   */
  readonly plaintextBytes: number;
  /** The body around contents that were sealed one by one. */
  readonly chat?: SealedChat;
  readonly maxOutputTokens?: number | undefined;
}

/** The sizes of a sealed chat request, and what it needs of a route. */
export function measureSealed({ reasoning, plaintextBytes, chat, maxOutputTokens }: SealedMeasure): {
  readonly needs: Needs;
  readonly size: RequestSize;
} {
  // Of a body that was sealed whole, each message's own JSON is longer than its allowance.
  const messages = chat?.messages.length ?? 0;
  return {
    needs: {
      ...noNeeds('text'),
      optionalParameters: chat === undefined ? [] : optionalParametersOf(chat),
      ...reasoningNeeds(reasoning),
      promptTokens: Math.ceil(plaintextBytes / 4) + messages * 4,
      maxOutputTokens,
      encrypted: true,
    },
    size: {
      promptTokensAtMost: plaintextBytes + allowance.request + messages * allowance.message,
      promptTokensLikely: Math.ceil(plaintextBytes / 3) + messages * 8,
      maxOutputTokens,
    },
  };
}
