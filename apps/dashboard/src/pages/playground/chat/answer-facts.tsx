import type { UsageAnswer } from '@sotto/wire';
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
  const all: readonly (readonly [string, ReactNode])[] = [
    // A lane keeps its answers when another model is chosen.
    ['Model', model ?? askedModel],
    ['Provider', provider],
    ['Provider privacy', tier && <TierBadge key="tier" tier={tier} />],
    ['Broker', gateway && <VerdictBadge key="verdict" verdict={gateway.verdict} />],
    ['Evidence', gateway?.teeType === 'simulated' ? warning('simulated') : undefined],
    ['Provider’s enclave', enclave && <VerdictBadge key="enclave" verdict={enclave.verdict} />],
    ['Privacy', way === 'compatibility' ? warning('compatibility, not verified') : undefined],
    [
      'Attempts',
      attempts === undefined ? undefined : `${String(attempts)}${fallback === true ? ', served by a fallback' : ''}`,
    ],
    ['Tokens', usage && tokensOf(usage)],
    ['Cost', usage && <Usd key="cost" usd={usage.cost} />],
    ['First token', firstTokenMs === undefined ? undefined : formatMs(firstTokenMs)],
    ['Total', totalMs === undefined ? undefined : formatMs(totalMs)],
    ['Speed', speed === undefined ? undefined : `${formatCount(speed)} tokens/s`],
  ];
  const known = all.filter(([, value]) => value !== undefined);
  if (known.length === 0) return null;
  return (
    <dl aria-label="About this answer" className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
      {known.map(([name, value]) => (
        <div key={name} className="flex items-center gap-1.5">
          <dt className="text-muted">{name}</dt>
          <dd className="break-all tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const warning = (words: string): ReactNode => <Badge tone="warn">{words}</Badge>;

function tokensOf(usage: UsageAnswer): string {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const thought = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  const input = `${formatCount(usage.prompt_tokens)} in${cached > 0 ? ` (${formatCount(cached)} cached)` : ''}`;
  const output = `${formatCount(usage.completion_tokens ?? 0)} out`;
  return `${input}, ${output}${thought > 0 ? ` (${formatCount(thought)} reasoning)` : ''}`;
}
