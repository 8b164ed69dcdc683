import type { BillingCatalog, BillingSettings, BillingSettingsAnswer } from '@sotto/wire';
import { readUsd, usdMistake } from '../../format/read-usd.ts';

/** Billing settings as somebody types them. */
export interface SettingsDraft {
  readonly lowBalance: string;
  readonly isAuto: boolean;
  readonly threshold: string;
  readonly packageId: string;
  readonly monthlyLimit: string;
}

/** What the form begins with: what is saved, else amounts that go together. */
export function draftOf(
  { low_balance_usd: low, auto_top_up: auto }: BillingSettingsAnswer,
  catalog: BillingCatalog,
): SettingsDraft {
  const first = catalog.packages[0];
  return {
    lowBalance: low === null ? '' : String(low),
    isAuto: auto?.enabled ?? false,
    threshold: String(auto?.threshold_usd ?? Math.min(5, first?.amount ?? 5)),
    packageId: auto?.package_id ?? first?.id ?? '',
    monthlyLimit: String(auto?.monthly_limit_usd ?? (first?.total ?? 0) * 4),
  };
}

export type DraftReading =
  | { readonly ok: true; readonly settings: BillingSettings }
  | { readonly ok: false; readonly errors: Partial<Record<string, string>> };

/** Reads a draft; what is no amount is named by the field it stands in. */
export function readDraft(draft: SettingsDraft): DraftReading {
  const errors: Partial<Record<string, string>> = {};
  const amount = (text: string, field: string, isNeeded: boolean): number | undefined => {
    const usd = readUsd(text);
    if (typeof usd === 'number') return usd;
    if (isNeeded) errors[field] = usdMistake;
    return undefined;
  };
  const low = draft.lowBalance.trim() === '' ? null : amount(draft.lowBalance, 'low_balance_usd', true);
  const threshold = amount(draft.threshold, 'threshold_usd', draft.isAuto);
  const limit = amount(draft.monthlyLimit, 'monthly_limit_usd', draft.isAuto);
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const hasAuto = draft.isAuto && threshold !== undefined && limit !== undefined;
  return {
    ok: true,
    settings: {
      low_balance_usd: low ?? null,
      auto_top_up: hasAuto
        ? { enabled: true, threshold_usd: threshold, package_id: draft.packageId, monthly_limit_usd: limit }
        : null,
    },
  };
}
