import { usageContracts } from '@sotto/contract/control';
import { availableNusd, nusdToUsd } from '@sotto/money';
import { type ProjectionPort, shardOfWallet } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { Serve } from '../serve/serve.ts';
import { sendCsv, wantsCsv } from './csv.ts';
import { exportDaily, readDaily } from './daily-store.ts';
import { dateOf, dayRange } from './day-range.ts';
import { requireBalanceReader, requireUsageReader, type UsageReaderDependencies } from './usage-reader.ts';
import { exportUsage, readUsage } from './usage-store.ts';

export interface UsageRoutesDependencies extends UsageReaderDependencies {
  readonly state: ProjectionPort;
  readonly now: () => number;
}

const usageColumns = [
  'id',
  'at',
  'workspace_id',
  'key_id',
  'operation',
  'model',
  'provider',
  'privacy_class',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'cost',
  'attempts',
  'fallback',
  'status',
  'estimated',
] as const;

const sumColumns = [
  'requests',
  'failed',
  'cancelled',
  'estimated',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'cost',
] as const;

/**
 * Serves balance and usage: with a management key, with a session for its own account and, as to usage, for workspaces that
 * it is a member of, or with an access token for the workspace of its grant.
 */
export function serveUsage(serve: Serve, { sessions, credentials, state, now }: UsageRoutesDependencies): void {
  const { pool } = sessions;
  const readers = { sessions, credentials };
  serve(usageContracts)({
    'GET /v1/balance': async ({ request }) => {
      const { walletId } = await requireBalanceReader(readers, request);
      // All of it from the state, at one instant: what is told here is what the next request is admitted against.
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
      const { accountId, workspaceId } = await requireUsageReader(readers, request, asked.workspace_id);
      const query = { ...asked, workspace_id: workspaceId };
      if (!wantsCsv(query.format, request.headers.accept)) return readUsage(pool, accountId, query);
      return sendCsv(reply, {
        filename: filenameOf('usage', query),
        columns: usageColumns,
        pages: exportUsage(pool, accountId, query),
      });
    },

    'GET /v1/usage/daily': async ({ query, request, reply }) => {
      const { group_by: groups, format, from, to, ...asked } = query;
      const { accountId, workspaceId } = await requireUsageReader(readers, request, asked.workspace_id);
      const days = dayRange({ from, to }, now());
      const question = { accountId, days, groups, filters: { ...asked, workspace_id: workspaceId } };
      if (!wantsCsv(format, request.headers.accept)) return readDaily(pool, question);
      return sendCsv(reply, {
        filename: `usage-daily-${dateOf(days.from)}-${dateOf(days.to)}.csv`,
        columns: [...groups, ...sumColumns],
        pages: exportDaily(pool, question),
      });
    },
  });
}

/** `usage-all.csv`, or with the dates of the range that was asked for. */
function filenameOf(name: string, { from, to }: { from?: Date | undefined; to?: Date | undefined }): string {
  const dates = [from, to].flatMap((at) => at?.toISOString().slice(0, 10) ?? []);
  return `${[name, ...(dates.length === 0 ? ['all'] : dates)].join('-')}.csv`;
}
