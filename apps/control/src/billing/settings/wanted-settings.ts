import { type Nusd, nusdToUsd, orderTotal, usdToNusd } from '@sotto/money';
import { type BillingSettings, ServiceError } from '@sotto/wire';
import type { BillingPlan } from '../billing-plan.ts';
import { RailRefusedError, RailUnavailableError, type SavedCards } from '../rails/rail.ts';
import type { WantedSettings } from './settings-store.ts';

/** Reads settings as they were sent, in nano-USD. Throws `invalid_request` for what could not work. */
export function readWanted(
  plan: BillingPlan,
  { low_balance_usd: low, auto_top_up: auto }: BillingSettings,
): WantedSettings {
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

/** Throws where auto top-up has no card to charge. */
export async function requireSavedCard(cards: SavedCards | undefined, accountId: string): Promise<void> {
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
