import type { ShownEnclave, ShownGateway } from '@sotto/client/playground';
import type { PrivacyClass, UsageAnswer } from '@sotto/wire';
import { tiers } from '../../../ui/badge.tsx';
import type { Way } from '../playground-search.ts';

/** Facts about an answer: from its headers, its usage, and this browser's clock. */
export interface AnswerFacts {
  readonly way: Way;
  readonly askedModel: string;
  /** The model that answered. */
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
  /** The verification before the content was sent; absent in compatibility mode. */
  readonly gateway?: ShownGateway | undefined;
  /** The verified enclave that the content was encrypted for. */
  readonly enclave?: ShownEnclave | undefined;
}

type AnswerState = 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed';

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

/** How many can tie a message to its sender; more is worse. */
const exposure: Readonly<Record<Way, number>> = { e2ee: 0, private: 1, compatibility: 2 };

/** Whether an exchange went by a more private way than this one, which must not repeat it. */
export const isKeptFrom = (way: Way, { facts }: Turn): boolean => exposure[facts.way] < exposure[way];

/** The messages of a new question: every earlier exchange with an answer that may go this way, then the question. */
export function messagesOf(system: string, turns: readonly Turn[], question: string, way: Way): readonly ChatMessage[] {
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
    ...turns
      .filter((turn) => turn.text !== '' && !isKeptFrom(way, turn))
      .flatMap(({ question: asked, text }) => [
        { role: 'user', content: asked } as const,
        { role: 'assistant', content: text } as const,
      ]),
    { role: 'user', content: question },
  ];
}

/** Tokens of output per second after the first piece; undefined if too little was measured. */
export function tokensPerSecond({ firstTokenMs, totalMs, usage }: AnswerFacts): number | undefined {
  const tokens = usage?.completion_tokens ?? 0;
  const ms = (totalMs ?? 0) - (firstTokenMs ?? 0);
  return tokens > 1 && ms >= 50 ? (tokens * 1000) / ms : undefined;
}

const isTier = (text: string | null): text is PrivacyClass => text !== null && Object.hasOwn(tiers, text);

/** Reads the facts in the headers of an answer. */
export function factsOf(headers: Headers): Omit<AnswerFacts, 'way' | 'askedModel'> {
  const tier = headers.get('x-router-privacy-class');
  const attempts = Number(headers.get('x-router-provider-attempts') ?? Number.NaN);
  const fallback = headers.get('x-router-provider-fallback');
  return {
    provider: headers.get('x-router-provider') ?? undefined,
    tier: isTier(tier) ? tier : undefined,
    attempts: Number.isInteger(attempts) ? attempts : undefined,
    fallback: fallback === null ? undefined : fallback === 'true',
    requestId: headers.get('x-request-id') ?? undefined,
  };
}
