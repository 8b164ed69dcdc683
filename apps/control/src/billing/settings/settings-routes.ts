import { readJsonBody } from '@sotto/http';
import { type Nusd, nusdToUsd, orderTotal, usdToNusd } from '@sotto/money';
import { type BillingSettings, billingSettingsSchema, parseRequest, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../../credentials/session-credentials.ts';
import type { BillingPlan } from '../billing-plan.ts';
import { RailRefusedError, RailUnavailableError, type SavedCards } from '../rails/rail.ts';
import { readSettings, type WantedSettings, writeSettings } from './settings-store.ts';

export interface SettingsRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly plan: BillingPlan;
  readonly cards: SavedCards | undefined;
  readonly now: () => number;
}

/** `/v1/billing/settings`: the notice of a low balance, and auto top-up with its limits. By session. */
export function registerBillingSettings(app: FastifyInstance, deps: SettingsRoutesDependencies): void {
  const { sessions, plan } = deps;
  const { pool } = sessions;
  const at = (): Date => new Date(deps.now());

  app.get('/v1/billing/settings', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    reply.header('cache-control', 'no-store');
    return readSettings(pool, accountId, at());
  });

  app.put('/v1/billing/settings', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const wanted = readWanted(plan, parseRequest(billingSettingsSchema, readJsonBody(request.body)));
    if (wanted.auto?.enabled === true) await requireSavedCard(deps.cards, accountId);
    await writeSettings(pool, accountId, wanted);
    reply.header('cache-control', 'no-store');
    return readSettings(pool, accountId, at());
  });
}

function readWanted(plan: BillingPlan, { low_balance_usd: low, auto_top_up: auto }: BillingSettings): WantedSettings {
  const lowBalanceNusd = low === null ? undefined : readAmount(low, 'low_balance_usd');
  if (auto === null) return { lowBalanceNusd, auto: undefined };
  const invalid = (param: string, message: string) =>
    new ServiceError('invalid_request', { message, param: `auto_top_up.${param}` });
  const bought = plan.packages.get(auto.package_id);
  if (bought === undefined) {
    throw invalid('package_id', '`auto_top_up.package_id` must be a package of `/v1/billing/catalog`.');
  }
  const thresholdNusd = readAmount(auto.threshold_usd, 'auto_top_up.threshold_usd');
  const monthlyLimitNusd = readAmount(auto.monthly_limit_usd, 'auto_top_up.monthly_limit_usd');
  if (thresholdNusd > bought.amountNusd) {
    const most = nusdToUsd(bought.amountNusd);
    // Otherwise one top-up could leave the balance below it, and the next would follow at once.
    throw invalid('threshold_usd', `\`auto_top_up.threshold_usd\` must be at most the package's amount, ${most}.`);
  }
  if (monthlyLimitNusd < orderTotal(bought)) {
    const least = nusdToUsd(orderTotal(bought));
    throw invalid(
      'monthly_limit_usd',
      `\`auto_top_up.monthly_limit_usd\` must hold one top-up with its fee, ${least}.`,
    );
  }
  return { lowBalanceNusd, auto: { enabled: auto.enabled, thresholdNusd, packageId: bought.id, monthlyLimitNusd } };
}

function readAmount(usd: number, param: string): Nusd {
  const nusd = usdToNusd(usd);
  if (nusd !== undefined) return nusd;
  throw new ServiceError('invalid_request', { message: `\`${param}\` takes at most nine decimals.`, param });
}

async function requireSavedCard(cards: SavedCards | undefined, accountId: string): Promise<void> {
  if (cards === undefined) {
    throw new ServiceError('rail_disabled', {
      message: 'Auto top-up needs payment by card, which is switched off on this deployment.',
      param: 'auto_top_up.enabled',
    });
  }
  const card = await cards.savedCard(accountId).catch((error: unknown) => {
    if (error instanceof RailUnavailableError || error instanceof RailRefusedError) {
      throw new ServiceError('service_unavailable', {
        message: 'The payment service cannot be asked for a saved card.',
      });
    }
    throw error;
  });
  if (card === undefined) {
    throw new ServiceError('conflict', {
      message: 'Auto top-up needs a saved card. Pay an order by card with `"save_card": true` first.',
      param: 'auto_top_up.enabled',
    });
  }
}
