import type { BillingSettings } from '@sotto/contract/control/billing';
import { type Nusd, nusdToUsd, orderTotal } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import { readUsd } from '../serve/read-usd.ts';
import type { BillingPlan } from './billing-plan.ts';
import { RailError, type SavedCards } from './rails/rail.ts';

/** The settings that a person can change. Amounts are in nano-USD. Undefined: it stays as it is. Null: none. */
export interface RequestedSettings {
  readonly receiptDetails: string | null | undefined;
  readonly lowBalanceNusd: Nusd | null | undefined;
  readonly auto:
    | {
        readonly enabled: boolean;
        readonly thresholdNusd: Nusd;
        readonly packageId: string;
        readonly monthlyLimitNusd: Nusd;
      }
    | null
    | undefined;
}

/** Converts requested settings to nano-USD. Throws `invalid_request` for settings that could not work. */
export function readRequestedSettings(
  plan: BillingPlan,
  { low_balance_usd: low, auto_top_up: auto, receipt_details: receiptDetails }: BillingSettings,
): RequestedSettings {
  const lowBalanceNusd = low == null ? low : readUsd('low_balance_usd', low);
  if (auto == null) return { lowBalanceNusd, auto, receiptDetails };
  const invalid = (param: string, message: string) =>
    new ServiceError('invalid_request', { message, param: `auto_top_up.${param}` });
  const bought = plan.packages.get(auto.package_id);
  if (bought === undefined) {
    throw invalid('package_id', '`auto_top_up.package_id` must be a package of `/v1/billing/catalog`.');
  }
  const thresholdNusd = readUsd('auto_top_up.threshold_usd', auto.threshold_usd);
  const monthlyLimitNusd = readUsd('auto_top_up.monthly_limit_usd', auto.monthly_limit_usd);
  if (thresholdNusd > bought.amountNusd) {
    const most = nusdToUsd(bought.amountNusd);
    // Otherwise the balance could stay below the threshold after a top-up, and the next would follow at once.
    throw invalid('threshold_usd', `\`auto_top_up.threshold_usd\` must be at most the package's amount, ${most}.`);
  }
  if (monthlyLimitNusd < orderTotal(bought)) {
    const least = nusdToUsd(orderTotal(bought));
    throw invalid(
      'monthly_limit_usd',
      `\`auto_top_up.monthly_limit_usd\` must hold one top-up with its fee, ${least}.`,
    );
  }
  const { enabled } = auto;
  return { lowBalanceNusd, receiptDetails, auto: { enabled, thresholdNusd, packageId: bought.id, monthlyLimitNusd } };
}

/** Throws if auto top-up does not have a card to charge. */
export async function requireSavedCard(cards: SavedCards | undefined, accountId: string): Promise<void> {
  if (cards === undefined) {
    throw new ServiceError('rail_disabled', {
      message: 'Auto top-up needs payment by card, which is switched off on this deployment.',
      param: 'auto_top_up.enabled',
    });
  }
  const card = await cards.savedCard(accountId).catch((error: unknown) => {
    if (error instanceof RailError) {
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
