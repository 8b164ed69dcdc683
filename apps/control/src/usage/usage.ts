import { usageContracts, usageDailyAnswerSchema, usagePageSchema } from '@sotto/contract/control/usage';
import { availableNusd, nusdToUsd } from '@sotto/money';
import { repeat } from '@sotto/server';
import { type ProjectionPort, shardOfWallet } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { orError } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import { sendCsv, wantsCsv } from '../serve/csv.ts';
import type { Serve } from '../serve/serve.ts';
import { exportDaily, groupColumns, readDaily, type TooManyGroups } from './daily-store.ts';
import { dateOf, dayRange, type HourRange, hourRange } from './day-range.ts';
import { RefusalBooks } from './refusal-books.ts';
import { purgeRefusals, readRefusals } from './refusal-store.ts';
import { keepUsageMonths, readKeptFrom, type UsageRetention } from './usage-months.ts';
import {
  requireBalanceReader,
  requireKeyReader,
  requireRowReader,
  requireUsageReader,
  type UsageReaderDependencies,
} from './usage-reader.ts';
import { exportUsage, readUsage } from './usage-store.ts';

export interface UsageDependencies {
  readonly pool: pg.Pool;
  readonly state: ProjectionPort;
  readonly retention: UsageRetention;
  readonly events: Pick<ControlEvents, 'usageMonths'>;
  readonly now: () => number;
}

const keepMonthsMs = 3_600_000;
const readRefusalsMs = 10_000;

export const buildUsage = (deps: UsageDependencies): Domain => ({
  register: ({ serve, ...readers }) => serveUsage(serve, readers, deps),
  tasks(failed) {
    const refusals = new RefusalBooks(deps);
    return [
      repeat(keepMonthsMs, () => keepMonths(deps), failed('usage_months')),
      repeat(readRefusalsMs, () => refusals.book(), failed('refusals')),
      repeat(keepMonthsMs, () => purgeRefusals(deps.pool, deps.now()), failed('purge refusals')),
    ];
  },
});

async function keepMonths({ pool, retention, events, now }: UsageDependencies): Promise<void> {
  const change = await keepUsageMonths(pool, { now: now(), retention });
  if (change.created.length + change.dropped.length > 0) events.usageMonths(change);
}

/** The columns of CSV are the fields of JSON, in their order. */
const usageColumns = usagePageSchema.shape.data.element.keyof().options;
const sumColumns = usageDailyAnswerSchema.shape.total.keyof().options;

/**
 * Serves balance and usage. A management key and a session read their own account. A session also reads the usage of
 * workspaces that it is a member of. An access token reads the workspace of its grant.
 */
function serveUsage(serve: Serve, readers: UsageReaderDependencies, { pool, state, now }: UsageDependencies): void {
  serve(usageContracts)({
    'GET /v1/balance': async ({ request }) => {
      const { walletId } = await requireBalanceReader(readers, request);
      // Reads everything from the state at one instant, so that the answer is what the next request is checked against.
      const wallet = await state.readWallet(shardOfWallet(walletId), walletId);
      if (wallet === undefined) throw new ServiceError('service_unavailable');
      const available = availableNusd(wallet);
      return {
        currency: 'USD',
        available: nusdToUsd(available < 0n ? 0n : available),
        reserved: nusdToUsd(wallet.heldNusd),
      };
    },

    'GET /v1/usage': async ({ query: asked, request, reply }) => {
      const scope = await requireUsageReader(readers, request, asked.workspace_id);
      const owner = await requireRowReader(readers, scope, asked);
      const { format, ...query } = { ...asked, workspace_id: scope.workspaceId };
      if (!wantsCsv(format, request.headers.accept)) return readUsage(pool, owner, query);
      return sendCsv(reply, {
        filename: filenameOf(query),
        columns: usageColumns,
        pages: exportUsage(pool, owner, query),
      });
    },

    'GET /v1/usage/refusals': async ({ query: { from, to, ...asked }, request }) => {
      const scope = await requireUsageReader(readers, request, asked.workspace_id);
      const owner = await requireRowReader(readers, scope, asked);
      const range = hourRange({ from, to }, now(), 31);
      return readRefusals(pool, owner, { ...asked, ...range, workspace_id: scope.workspaceId });
    },

    'GET /v1/usage/daily': async ({ query, request, reply }) => {
      const { group_by: groups, format, from, to, ...asked } = query;
      const scope = await requireUsageReader(readers, request, asked.workspace_id);
      requireKeyReader(scope, { groups, ...asked });
      const isByHour = groups.includes('hour');
      // Hours tell nearly what rows do, so they are for those who may read the rows.
      const { onlyOf } = isByHour ? await requireRowReader(readers, scope, asked) : {};
      const hours = isByHour ? await hoursOfRows(pool, { from, to }, now()) : undefined;
      const days = dayRange(hours ?? { from, to }, now());
      const filters = { ...asked, member_id: asked.member_id ?? onlyOf, workspace_id: scope.workspaceId };
      const question = { accountId: scope.accountId, days, hours, groups, filters, isNamed: !scope.isApp };
      if (!wantsCsv(format, request.headers.accept)) return orError(await readDaily(pool, question), dailyErrors);
      return sendCsv(reply, {
        filename: `usage-${isByHour ? 'hourly' : 'daily'}-${dateOf(days.from)}-${dateOf(days.to)}.csv`,
        columns: [...groupColumns(question), ...sumColumns],
        pages: exportDaily(pool, question),
      });
    },
  });
}

/** Returns the hours of a query. Throws `invalid_request` if they are too many, or if rows of them were deleted. */
async function hoursOfRows(pool: pg.Pool, asked: Parameters<typeof hourRange>[0], nowMs: number): Promise<HourRange> {
  const hours = hourRange(asked, nowMs, 3);
  const keptFrom = await readKeptFrom(pool);
  if (keptFrom === null || hours.from >= keptFrom) return hours;
  throw new ServiceError('invalid_request', {
    message: `The operator deleted requests before ${keptFrom.toISOString()}, so hours before it have no sums. Group by \`day\`.`,
    param: 'from',
  });
}

const dailyErrors = {
  too_many_groups: ({ most }: TooManyGroups) =>
    new ServiceError('invalid_request', {
      message: `This has more than ${most} groups. Group by less, ask for fewer days, or take \`format=csv\`.`,
      param: 'group_by',
    }),
};

/** Returns `usage-all.csv`, or a name with the dates of the requested range. */
function filenameOf({ from, to }: { from?: Date | undefined; to?: Date | undefined }): string {
  const dates = [from, to].flatMap((at) => at?.toISOString().slice(0, 10) ?? []);
  return `usage-${dates.length === 0 ? 'all' : dates.join('-')}.csv`;
}
