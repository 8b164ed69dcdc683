import type { ProviderListAnswer } from '@sotto/contract/control/operator';
import { nusdToUsd } from '@sotto/money';
import { type Route, RouteTally } from '@sotto/router';
import { monthOf } from '@sotto/state';
import type pg from 'pg';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { shareOf } from '../catalog/plane-uptime.ts';

/** Returns the providers of the catalog, with the health that the brokers measured and the charges of this month. */
export async function listProviders(
  pool: pg.Pool,
  keeper: Pick<CatalogKeeper, 'catalog' | 'status' | 'measured'>,
  now: number,
): Promise<ProviderListAnswer['data']> {
  const spent = new Map((await spendByProvider(pool, now)).map(({ provider, usd }) => [provider, usd]));
  const { penalized } = keeper.status();
  const routes = Map.groupBy(
    [...(keeper.catalog?.models.values() ?? [])].flatMap((model): readonly Route[] => model.routes),
    ({ publicProviderId }) => publicProviderId,
  );
  return [...routes]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([provider, ofProvider]) => {
      const tallies = ofProvider.map(({ id }) => keeper.measured.sumOf(id));
      const all = new RouteTally(provider);
      for (const tally of tallies) if (tally !== undefined) all.combine(tally.toRecord());
      const [p50, p90] = [50, 90].map((percentile) => all.percentile('ttftMs', percentile));
      const requests = tallies.reduce((sum, tally) => sum + (tally?.requests ?? 0), 0);
      const successes = tallies.reduce((sum, tally) => sum + (tally?.successes ?? 0), 0);
      return {
        provider,
        routes: ofProvider.length,
        penalized_routes: ofProvider.filter(penalized).length,
        requests,
        success_rate: requests === 0 ? null : shareOf(successes, requests),
        ttft_ms: p50 === undefined || p90 === undefined ? null : { p50, p90 },
        spent_this_month_usd: spent.get(provider) ?? 0,
      };
    });
}

/** Returns what accounts were charged for each provider's answers since the first of this month, UTC. */
export async function spendByProvider(
  pool: pg.Pool,
  now: number,
): Promise<readonly { readonly provider: string; readonly usd: number }[]> {
  const { rows } = await pool.query<{ provider: string; spent: string }>(
    `select provider, sum(cost_nusd)::text as spent from usage_daily_routes
     where day >= $1::date and provider is not null group by provider order by provider`,
    [`${monthOf(now)}-01`],
  );
  return rows.map(({ provider, spent }) => ({ provider, usd: nusdToUsd(BigInt(spent)) }));
}
