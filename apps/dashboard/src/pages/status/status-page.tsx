import type { StatusAnswer } from '@sotto/contract/control/catalog';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import { call } from '../../api/call.ts';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { hourMs } from '../../format/days.ts';
import { formatCount, formatCountOf, formatHour, formatInstant, formatShare } from '../../format/format.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { Card, Loaded, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant, measuredText } from '../../ui/text.tsx';
import { incidentBelow } from '../models/measured.ts';

const askAgainMs = 30_000;

type Standing = 'ready' | 'not_ready' | 'away';
const standings: Readonly<Record<Standing, { readonly tone: Tone; readonly word: string }>> = {
  ready: { tone: 'good', word: 'Ready' },
  not_ready: { tone: 'warn', word: 'Starting or shutting down' },
  away: { tone: 'danger', word: 'Does not answer' },
};

/** Asks a plane whether it can serve requests. */
const planeQuery = (address: string) => ({
  queryKey: ['plane', address],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<{ standing: Standing; at: string }> => {
    const at = new Date().toISOString();
    try {
      const { ok } = await fetch(`${address}/readyz`, { signal, cache: 'no-store' });
      return { standing: ok ? 'ready' : 'not_ready', at };
    } catch (error) {
      if (signal.aborted) throw error;
      return { standing: 'away', at };
    }
  },
  refetchInterval: askAgainMs,
});

/** Both planes as this browser reaches them now, and the providers in the last 24 hours. Needs no session. */
export function StatusPage() {
  const control = useQuery(planeQuery(controlOrigin));
  const broker = useQuery(planeQuery(confidentialOrigin));
  const day = useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => call('GET /v1/status', { signal }),
    refetchInterval: askAgainMs,
  });
  return (
    <Page
      title="Status"
      lead="Both planes, asked from this browser every half minute, and what they measured in the last day, some minutes ago."
    >
      <div className="grid gap-6 lg:grid-cols-2">
        <Plane
          name="Confidential broker"
          purpose="Serves requests to models."
          address={confidentialOrigin}
          query={broker}
          hours={day.data?.planes.broker}
        />
        <Plane
          name="Control plane"
          purpose="Accounts, keys, balance, tickets and this page."
          address={controlOrigin}
          query={control}
          hours={day.data?.planes.control}
        />
      </div>
      <Card
        title="The last 24 hours"
        lead="Requests that reached a provider, by hour. Another provider may have answered those that failed."
      >
        <Loaded query={day} label="The last day is loading" lines={5}>
          {(status) => <Day status={status} />}
        </Loaded>
      </Card>
    </Page>
  );
}

interface PlaneProps {
  readonly name: string;
  readonly purpose: string;
  readonly address: string;
  readonly query: { readonly data: { readonly standing: Standing; readonly at: string } | undefined };
  readonly hours: StatusAnswer['planes']['control'] | undefined;
}

function Plane({ name, purpose, address, query: { data }, hours = [] }: PlaneProps) {
  const { tone, word } = data === undefined ? { tone: 'neutral' as const, word: 'Asking…' } : standings[data.standing];
  return (
    <Card title={name} actions={<Badge tone={tone}>{word}</Badge>}>
      <p>{purpose}</p>
      <p className="mt-1 text-sm break-all text-muted">
        {address}
        {data !== undefined && (
          <>
            {' · asked '}
            <Instant at={data.at} />
          </>
        )}
      </p>
      <div className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-1">
        <p className="text-sm text-muted">The last 24 hours, as control saw them</p>
        <Hours
          of={name}
          hours={hours.map(({ at, ready }) => ({
            at,
            rate: ready === null ? null : 1 - (1 - ready) * passedOf(at),
            said: ready === null ? 'not known' : `ready in ${formatShare(ready)} of its minutes`,
          }))}
        />
      </div>
      <p className="mt-2 text-sm text-muted">
        {`A green hour missed at most ${badMinutes} of its minutes, a red one more. Nothing is known of a grey one.`}
      </p>
    </Card>
  );
}

const badMinutes = Math.round((1 - incidentBelow) * 60);

/** The part of an hour that has passed. A missed minute weighs as much in the present hour as in the others. */
const passedOf = (hour: string): number => Math.min(1, (Date.now() - Date.parse(hour)) / hourMs);

type Row = StatusAnswer['providers'][number];

const columns: readonly Column<Row>[] = [
  {
    title: 'Provider',
    heading: true,
    cell: ({ provider }) =>
      provider === 'other' ? (
        'Others'
      ) : (
        <Link to="/providers/$provider" params={{ provider }} className={`${linkClass} break-all`}>
          {provider}
        </Link>
      ),
  },
  { title: 'Requests', numeric: true, cell: ({ requests }) => measuredText(requests, formatCount) },
  { title: 'Success', numeric: true, cell: ({ success_rate }) => measuredText(success_rate, formatShare) },
];

/** The strips of all rows begin with the same hour. */
const hoursColumn = (first: string | undefined): Column<Row> => ({
  title: first === undefined ? 'By hour' : `Since ${formatHour(first)}`,
  cell: ({ provider, hours }) => <Hours of={provider} hours={hours.map(asBar)} isInTable />,
});

function Day({ status: { hours, providers } }: { status: StatusAnswer }) {
  const isMeasured = hours.some(({ requests }) => requests !== null);
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
        <p className="font-medium">{isMeasured ? 'All providers' : 'No hour had 20 requests yet'}</p>
        <Hours of="All providers" hours={hours.map(asBar)} />
      </div>
      <Table
        caption="Providers in the last 24 hours"
        columns={[...columns, hoursColumn(hours[0]?.at)]}
        rows={providers}
        rowKey={({ provider }) => provider}
      />
      <p className="text-sm text-muted">
        A green hour had at least {formatShare(incidentBelow)} successes, a red one fewer. A grey one had under 20
        requests, which is too few to say.
      </p>
    </div>
  );
}

interface Bar {
  readonly at: string;
  /** From 0, bad, to 1. Null: not known. */
  readonly rate: number | null;
  readonly said: string;
}

const asBar = ({ at, requests, success_rate: rate }: StatusAnswer['hours'][number]): Bar => ({
  at,
  rate,
  said:
    rate === null
      ? 'fewer than 20 requests'
      : `${formatCountOf(requests ?? 0, 'request')}, ${formatShare(rate)} succeeded`,
});

interface HoursProps {
  readonly of: string;
  readonly hours: readonly Bar[];
  /** The column says the hours. */
  readonly isInTable?: boolean;
}

const HourOf = ({ hour }: { hour: Bar | undefined }) => <span>{hour && formatHour(hour.at)}</span>;

/** One bar for each hour, the oldest first, with the same in words for those who do not see it. */
function Hours({ of, hours, isInTable = false }: HoursProps) {
  const bad = hours.filter(({ rate }) => rate !== null && rate < incidentBelow);
  const measured = hours.filter(({ rate }) => rate !== null).length;
  const said =
    measured === 0
      ? 'nothing is known of any hour'
      : bad.length === 0
        ? `${formatCountOf(measured, 'hour')} without trouble`
        : `trouble at ${bad.map(({ at }) => formatHour(at)).join(', ')}`;
  return (
    <div role="img" aria-label={`${of}: ${said}`} className="w-fit">
      <div className={clsx('flex h-6 items-end', isInTable ? 'gap-px md:gap-0.5' : 'gap-0.5')}>
        {hours.map(({ at, rate, said }) => (
          <span
            key={at}
            title={`${formatInstant(at)}: ${said}`}
            className={clsx(
              'h-full rounded-sm',
              // A card of a phone has half the width.
              isInTable ? 'w-1 md:w-2' : 'w-2',
              rate === null ? 'bg-line' : rate < incidentBelow ? 'bg-danger' : 'bg-good',
            )}
          />
        ))}
      </div>
      {!isInTable && (
        <div className="mt-0.5 flex justify-between gap-2 text-xs text-muted">
          <HourOf hour={hours[0]} />
          <HourOf hour={hours[12]} />
          <span>now</span>
        </div>
      )}
    </div>
  );
}
