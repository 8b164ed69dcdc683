import type { EnclaveVerification, OriginVerification } from '@sotto/client';
import type { PrivacyClass, UsageAnswer } from '@sotto/wire';
import type { Way } from '../playground-search.ts';

/** What an answer tells of itself: its headers, its usage, and what was measured here. */
export interface AnswerFacts {
  readonly way: Way;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly tier?: PrivacyClass | undefined;
  readonly attempts?: number | undefined;
  readonly fallback?: boolean | undefined;
  readonly requestId?: string | undefined;
  /** From the press of the button to the first piece of text; ms. */
  readonly firstTokenMs?: number | undefined;
  readonly totalMs?: number | undefined;
  readonly usage?: UsageAnswer | undefined;
  /** The verification that the content was sent on; absent in compatibility mode. */
  readonly gateway?: OriginVerification | undefined;
  /** The enclave that the content was encrypted for. */
  readonly enclave?: EnclaveVerification | undefined;
}

export type AnswerState = 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed';

export interface Turn {
  readonly id: string;
  readonly question: string;
  readonly state: AnswerState;
  readonly text: string;
  readonly reasoning: string;
  readonly facts: AnswerFacts;
  readonly error?: unknown;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** What is sent again with a new question: every exchange that brought some text. */
export function messagesOf(system: string, turns: readonly Turn[], question: string): readonly ChatMessage[] {
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
    ...turns
      .filter(({ text }) => text !== '')
      .flatMap(({ question: asked, text }) => [
        { role: 'user', content: asked } as const,
        { role: 'assistant', content: text } as const,
      ]),
    { role: 'user', content: question },
  ];
}

/** Tokens of output per second, from the first piece on; undefined where that cannot be told. */
export function tokensPerSecond({ firstTokenMs, totalMs, usage }: AnswerFacts): number | undefined {
  const tokens = usage?.completion_tokens ?? 0;
  const ms = (totalMs ?? 0) - (firstTokenMs ?? 0);
  return tokens > 1 && ms >= 50 ? (tokens * 1000) / ms : undefined;
}
