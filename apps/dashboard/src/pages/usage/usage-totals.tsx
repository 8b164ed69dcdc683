import type { UsageSums } from '@sotto/wire';
import { formatUsd } from '../../format/money.ts';
import { formatCompact, formatCount } from '../../format/numbers.ts';

/** The sums of all that is shown. */
export function UsageTotals({ total }: { total: UsageSums }) {
  const { requests, failed, cancelled, estimated, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } =
    total;
  const marks = [
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [estimated, 'estimated'],
  ] as const;
  const told = marks.filter(([count]) => count > 0).map(([count, word]) => `${formatCount(count)} ${word}`);
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Total name="Cost" value={formatUsd(total.cost)} note={`${formatUsd(total.cost / requests)} a request`} />
      <Total
        name="Requests"
        value={formatCount(requests)}
        note={told.length === 0 ? 'all completed' : told.join(', ')}
      />
      <Total
        name="Tokens in"
        value={formatCompact(prompt_tokens)}
        note={`${formatCompact(cached_tokens)} from a cache`}
        title={formatCount(prompt_tokens)}
      />
      <Total
        name="Tokens out"
        value={formatCompact(completion_tokens)}
        note={`${formatCompact(reasoning_tokens)} of reasoning`}
        title={formatCount(completion_tokens)}
      />
    </dl>
  );
}

function Total({ name, value, note, title }: { name: string; value: string; note: string; title?: string }) {
  return (
    <div className="min-w-0 rounded-2xl border border-line bg-surface p-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd>
        <span className="block text-xl font-semibold break-words tabular-nums" title={title}>
          {value}
        </span>
        <span className="block text-sm text-muted">{note}</span>
      </dd>
    </div>
  );
}
