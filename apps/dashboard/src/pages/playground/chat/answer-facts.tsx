import type { ReactNode } from 'react';
import { formatCount, formatMs } from '../../../format/format.ts';
import { Badge, TierBadge } from '../../../ui/badge.tsx';
import { Usd } from '../../../ui/text.tsx';
import { VerdictBadge } from '../../../verification/verdicts.tsx';
import { type AnswerFacts, tokensPerSecond } from './conversation.ts';

/** Provider, tier, speed and cost of an answer. */
export function AnswerFactsList({ facts }: { facts: AnswerFacts }) {
  const { provider, tier, attempts, fallback, usage, firstTokenMs, totalMs, gateway, enclave, way, model, askedModel } =
    facts;
  const speed = tokensPerSecond(facts);
  const thought = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const items: readonly (readonly [string, ReactNode])[] = [
    ...(model === undefined || model === askedModel ? [] : [['Model', model] as const]),
    ...(provider === undefined ? [] : [['Provider', provider] as const]),
    ...(tier === undefined ? [] : [['Provider privacy', <TierBadge key="tier" tier={tier} />] as const]),
    ...(gateway === undefined ? [] : [['Broker', <VerdictBadge key="verdict" verdict={gateway.verdict} />] as const]),
    ...(gateway?.teeType === 'simulated'
      ? [
          [
            'Evidence',
            <Badge key="simulated" tone="warn">
              simulated
            </Badge>,
          ] as const,
        ]
      : []),
    ...(enclave === undefined
      ? []
      : [['Provider’s enclave', <VerdictBadge key="enclave" verdict={enclave.verdict} />] as const]),
    ...(way === 'compatibility'
      ? [
          [
            'Way',
            <Badge key="way" tone="warn">
              compatibility, not verified
            </Badge>,
          ] as const,
        ]
      : []),
    ...(attempts === undefined
      ? []
      : [['Attempts', `${String(attempts)}${fallback === true ? ', served by a fallback' : ''}`] as const]),
    ...(usage === undefined
      ? []
      : [
          [
            'Tokens',
            `${formatCount(usage.prompt_tokens)} in${cached > 0 ? ` (${formatCount(cached)} cached)` : ''}, ${formatCount(usage.completion_tokens ?? 0)} out${thought > 0 ? ` (${formatCount(thought)} reasoning)` : ''}`,
          ] as const,
          ['Cost', <Usd key="cost" usd={usage.cost} />] as const,
        ]),
    ...(firstTokenMs === undefined ? [] : [['First token', formatMs(firstTokenMs)] as const]),
    ...(totalMs === undefined ? [] : [['In all', formatMs(totalMs)] as const]),
    ...(speed === undefined ? [] : [['Speed', `${formatCount(speed)} tokens/s`] as const]),
  ];
  if (items.length === 0) return null;
  return (
    <dl aria-label="About this answer" className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
      {items.map(([name, value]) => (
        <div key={name} className="flex items-center gap-1.5">
          <dt className="text-muted">{name}</dt>
          <dd className="break-all tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
