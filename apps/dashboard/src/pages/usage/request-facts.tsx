import { type ModelAnswer, type PricingAnswer, type RouteAnswer, type UsageError, usageErrorNotes } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { modelsQuery } from '../../api/queries.ts';
import type { UsageRow } from '../../api/usage.ts';
import { exactUsdOf, formatCount, formatCountOf, formatPrice, formatUtcMinute } from '../../format/format.ts';
import { Badge, TierBadge, type Tone } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import type { UsageNames } from './usage-points.ts';

export const errorWords: Readonly<Record<UsageError, string>> = {
  provider: 'Provider failed',
  timeout: 'Timed out',
  rate_limit: 'Rate limit',
  request: 'Bad request',
  cancelled: 'Cancelled',
};

const tones: Readonly<Record<UsageRow['status'], Tone>> = { completed: 'good', failed: 'danger', cancelled: 'warn' };

const outcomeWord = ({ status, error }: UsageRow): string =>
  status === 'completed' ? 'Completed' : error === null ? 'Failed' : errorWords[error];

/** How a request ended, with its class of error. */
export const StatusBadge = ({ row }: { row: UsageRow }) => <Badge tone={tones[row.status]}>{outcomeWord(row)}</Badge>;

/** Everything that the service keeps of a request. */
export function RequestFacts({ row, nameOf }: UsageNames & { readonly row: UsageRow }) {
  const { at, operation, model, provider, privacy_class: tier, key_id: key, error, provider_status: answered } = row;
  return (
    <div className="space-y-5 text-sm">
      {error !== null && <ErrorNote error={error} />}
      <Pairs
        pairs={[
          ['Status', <StatusBadge key="status" row={row} />],
          ['Minute (UTC)', formatUtcMinute(at)],
          ['Model', model],
          ['Operation', operation],
          ['Provider', provider ?? 'none'],
          ...(answered === null ? [] : [['Answered', `HTTP ${answered}`] as const]),
          ['Provider tier', tier === null ? 'none' : <TierBadge key="tier" tier={tier} />],
          ['Key', nameOf(key, 'key')],
          ['Attempts', <Attempts key="attempts" row={row} />],
        ]}
      />
      <Charge row={row} />
      <p className="text-muted">
        This row has no content, no exact time, no duration, no id of the request, and not whether it came by ticket or
        by key. The ledger also keeps the charge and the time of its booking.
      </p>
    </div>
  );
}

function Pairs({ pairs }: { pairs: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 gap-y-1.5">
      {pairs.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const withPart = (count: number, part: number, what: string): string =>
  part === 0 ? formatCount(count) : `${formatCount(count)}, ${formatCount(part)} ${what}`;

/** Each attempt with its outcome, in order. Only their number if a broker of an earlier version settled the request. */
function Attempts({ row }: { row: UsageRow }) {
  const { attempts, fallback, failed_attempts: failed, provider, error } = row;
  if (!fallback || failed.length + 1 !== attempts) return countAttempts(row);
  const last = { provider: provider ?? 'none', error, word: outcomeWord(row) };
  return (
    <ol className="space-y-1">
      {[...failed.map((one) => ({ ...one, word: errorWords[one.error] })), last].map((attempt, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: attempts of one request neither move nor change
        <li key={index}>
          {`${index + 1} ${attempt.provider}: `}
          {attempt.error === null ? (
            attempt.word.toLowerCase()
          ) : (
            <ErrorLink error={attempt.error}>{attempt.word.toLowerCase()}</ErrorLink>
          )}
        </li>
      ))}
    </ol>
  );
}

function countAttempts({ attempts, fallback, status }: UsageRow): string {
  if (!fallback) return formatCountOf(attempts, 'attempt');
  const others = formatCountOf(attempts - 1, 'provider');
  return status === 'completed'
    ? `${formatCount(attempts)}: ${others} failed, then this one answered`
    : `${formatCount(attempts)}: this provider was the last`;
}

function ErrorNote({ error }: { error: UsageError }) {
  const { when, remedy } = usageErrorNotes[error];
  return (
    <section className="rounded-xl border border-line bg-raised p-3">
      <h3 className="font-medium">{errorWords[error]}</h3>
      <p>{when}</p>
      <p>{remedy}</p>
      <ErrorLink error={error}>{`“${errorWords[error]}” in the reference`}</ErrorLink>
    </section>
  );
}

const ErrorLink = ({ error, children }: { error: UsageError; children: string }) => (
  <Link to="/guides/$" params={{ _splat: 'reference/errors' }} hash={`errors-of-usage-${error}`} className={linkClass}>
    {children}
  </Link>
);

/** The charge, line by line if the prices of the catalog explain it. */
function Charge({ row }: { row: UsageRow }) {
  const { data: models } = useQuery(modelsQuery);
  const route = models && routeOf(row, models);
  const lines = route && chargeLines(row, route.pricing);
  const exact = exactUsdOf([...(lines ?? []).map(({ usd }) => usd), row.cost]);
  const per = row.operation === 'image' ? 'an image' : 'a million';
  return (
    <section>
      <h3 className="mb-1 font-medium">Charge</h3>
      {lines === undefined ? (
        <Pairs
          pairs={[
            ['Tokens in', withPart(row.prompt_tokens, row.cached_tokens, 'cached')],
            ['Tokens out', withPart(row.completion_tokens, row.reasoning_tokens, 'reasoning')],
          ]}
        />
      ) : (
        <table className="w-full">
          <caption className="sr-only">Lines of the charge</caption>
          <thead className="sr-only">
            <tr>
              <th scope="col">What</th>
              <th scope="col">Amount</th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ name, count, price, usd }) => (
              <tr key={name}>
                <td className="py-0.5 pr-2">
                  {name}
                  <span className="block text-muted">{`${formatCount(count)} × ${formatPrice(price)} ${per}`}</span>
                </td>
                <td className="py-0.5 text-right align-top tabular-nums">{exact(usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="mt-2 flex justify-between gap-3 border-t border-line pt-2 font-medium tabular-nums">
        <span>Total</span>
        <span>{exact(row.cost)}</span>
      </p>
      {row.cost === 0 && row.status !== 'completed' && <p className="text-muted">Nothing was charged.</p>}
      {row.cost > 0 && models !== undefined && lines === undefined && (
        <p className="text-muted">
          Today’s prices do not give this total: they have changed, the request wrote to a cache, or its hold limited
          it.
        </p>
      )}
      {row.estimated && (
        <p className="text-muted">The provider did not report all of the usage, so the service counted tokens.</p>
      )}
    </section>
  );
}

/** The route that served a request, if the catalog still has it. A provider may have a route of each tier. */
export const routeOf = (row: UsageRow, models: readonly ModelAnswer[]): RouteAnswer | undefined =>
  models
    .find(({ id }) => id === row.model)
    ?.provider_routes.find((route) => route.provider === row.provider && route.privacy_class === row.privacy_class);

/** One line of a charge. */
interface ChargeLine {
  readonly name: string;
  /** Tokens, or images. */
  readonly count: number;
  /** USD per million tokens, or per image. */
  readonly price: number;
  readonly usd: number;
}

/** A charge is rounded up to a nano-dollar, and JSON amounts are floating point. */
const toleranceUsd = 2e-9;

/**
 * The lines of a request's charge at these prices. Undefined if they do not add up to it: prices have changed, the request
 * wrote to a cache, or its charge was limited by its hold.
 */
export function chargeLines(row: UsageRow, pricing: PricingAnswer): readonly ChargeLine[] | undefined {
  const lines = row.operation === 'image' ? imageLines(pricing) : tokenLines(row, pricing);
  const sum = lines.reduce((total, { usd }) => total + usd, 0);
  return row.cost > 0 && Math.abs(sum - row.cost) <= toleranceUsd ? lines : undefined;
}

const imageLines = ({ image = 0 }: PricingAnswer): ChargeLine[] => [
  { name: 'Image', count: 1, price: image, usd: image },
];

function tokenLines(row: UsageRow, pricing: PricingAnswer): ChargeLine[] {
  const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: output, reasoning_tokens: reasoning } = row;
  const tiers = (pricing.tiers ?? []).filter(({ above_prompt_tokens }) => prompt > above_prompt_tokens);
  const prices: PricingAnswer = Object.assign({}, pricing, ...tiers);
  const { input = 0 } = prices;
  const thought = pricing.reasoning === undefined ? 0 : Math.min(reasoning, output);
  const line = (name: string, count: number, price: number): ChargeLine[] =>
    count === 0 ? [] : [{ name, count, price, usd: (count * price) / 1e6 }];
  return [
    ...line('Prompt', prompt - Math.min(cached, prompt), input),
    ...line('Prompt, from a cache', Math.min(cached, prompt), prices.cached_input ?? input),
    ...line('Output', output - thought, prices.output ?? 0),
    ...line('Reasoning', thought, pricing.reasoning ?? 0),
  ];
}
