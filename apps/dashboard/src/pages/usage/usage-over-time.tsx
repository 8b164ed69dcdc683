import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type UsageFilters, usageSumsCsv, usageSumsQuery } from '../../api/usage.ts';
import type { Days } from '../../format/days.ts';
import {
  formatCompact,
  formatCount,
  formatDay,
  formatExactUsd,
  formatMonth,
  formatShortDay,
  formatUsd,
  formatUsdColumn,
  formatUtcHour,
  formatUtcInstant,
} from '../../format/format.ts';
import { DownloadLink } from '../../ui/button.tsx';
import { Segments } from '../../ui/choices.tsx';
import { Plot } from '../../ui/plot.tsx';
import { Card, ErrorState, Skeleton } from '../../ui/surface.tsx';
import { hoursOf, hourTicks, stepOf, stepsOf, type UsageStep } from './days.ts';
import { groupOf, kindNames, namesIn, type UsageNames, usagePlot } from './usage-points.ts';
import { type UsageMeasure, type UsageSearch, usageKinds, usageMeasures } from './usage-search.ts';

interface UsageOverTimeProps extends UsageNames {
  readonly search: UsageSearch;
  readonly days: Days;
  readonly filters: UsageFilters;
  /** Whether the reader may see what each member used. */
  readonly seesMembers: boolean;
  readonly onChange: (search: UsageSearch) => void;
}

const measures: Readonly<
  Record<UsageMeasure, { readonly name: string; readonly unit: string; readonly format: (value: number) => string }>
> = {
  cost: { name: 'Cost', unit: '$', format: formatUsd },
  requests: { name: 'Requests', unit: 'requests', format: formatCount },
  tokens: { name: 'Tokens', unit: 'tokens, in and out', format: formatCount },
};

/** How each step is told, and how the axis tells it. */
const stepForms: Readonly<Record<UsageStep, readonly [long: (x: string) => string, short: (x: string) => string]>> = {
  hour: [formatUtcInstant, (hour) => (hour.includes('T00') ? formatShortDay(hour.slice(0, 10)) : formatUtcHour(hour))],
  day: [formatDay, formatShortDay],
  month: [formatMonth, formatMonth],
};

/** Bars of an hour, a day or a month each, stacked by model, key, provider, tag or member. */
export function UsageOverTime({ search, days, filters, seesMembers, onChange, ...names }: UsageOverTimeProps) {
  const kind = search.by ?? 'model';
  const measure = search.show ?? 'cost';
  const wanted = search.hours === undefined ? stepOf(days, seesMembers) : 'hour';
  const sumsBy = (by: UsageStep) => usageSumsQuery(filters, [by, groupOf[kind]]);
  const wholeDays = search.hours === undefined;
  const hourly = useQuery({ ...sumsBy('hour'), enabled: wanted === 'hour', placeholderData: keepPreviousData });
  // The operator may have deleted what hours are summed from.
  const step = wanted === 'hour' && wholeDays && hourly.error !== null ? 'day' : wanted;
  const longer = useQuery({ ...sumsBy(step), enabled: step !== 'hour', placeholderData: keepPreviousData });
  const sums = step === 'hour' ? hourly : longer;
  const [formatX, formatTick] = stepForms[step];
  const steps = step === 'hour' ? hoursOf(filters, Date.now()) : stepsOf(days);
  const rows = sums.data?.data ?? [];
  const { nameOf } = namesIn(rows, names);
  const plot = usagePlot({
    rows,
    steps,
    kind,
    measure,
    nameOf: (subject) => nameOf(subject, kind),
  });
  const { name, unit, format } = measures[measure];
  return (
    <Card
      title="Over time"
      actions={
        <div className="flex flex-wrap gap-x-4 gap-y-2">
          <Segments
            legend="Show"
            value={measure}
            choices={usageMeasures.map((value) => ({ value, label: measures[value].name }))}
            onChange={(show) => onChange({ ...search, show })}
          />
          <Segments
            legend="By"
            value={kind}
            choices={usageKinds
              .filter((value) => value !== 'member' || seesMembers)
              .map((value) => ({ value, label: kindNames[value] }))}
            onChange={(by) => onChange({ ...search, by })}
          />
        </div>
      }
    >
      {sums.error !== null ? (
        <ErrorState error={sums.error} onRetry={() => void sums.refetch()} />
      ) : sums.data === undefined ? (
        <div role="status" aria-label="The plot is loading">
          <Skeleton className="h-64 w-full" />
        </div>
      ) : (
        <Plot
          title={`${name} by ${kindNames[kind].toLowerCase()}`}
          hideTitle
          unit={`${unit}, by ${step}${step === 'hour' ? ' (UTC)' : ''}`}
          kind="stack"
          {...plot}
          formatX={formatX}
          formatTick={formatTick}
          ticks={step === 'hour' ? hourTicks(steps) : undefined}
          formatValue={format}
          formatAxis={measure === 'cost' ? formatExactUsd : formatCompact}
          isCount={measure !== 'cost'}
          {...(measure === 'cost' ? { formatColumns: formatUsdColumn } : {})}
          footer={
            <DownloadLink href={usageSumsCsv(filters, [step, groupOf[kind]])} look="quiet">
              Export
            </DownloadLink>
          }
        />
      )}
    </Card>
  );
}
