import type { PrivacyClass } from '@sotto/wire';
import { tiers } from '../../../ui/badge.tsx';
import type { AnswerFacts } from './conversation.ts';

const isTier = (text: string | null): text is PrivacyClass => text !== null && Object.hasOwn(tiers, text);

/** What the headers of an answer say of it (interface 4.7). */
export function factsOf(headers: Headers): Omit<AnswerFacts, 'way'> {
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
