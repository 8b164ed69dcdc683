import type { BillingCatalog, BillingSettings, BillingSettingsAnswer } from '@sotto/contract/control/billing';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { errorAt } from '../../api/errors.ts';
import { billingCatalogQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { formatInstant, formatUsd, readUsd, typedUsd, usdMistake } from '../../format/format.ts';
import { Form } from '../../ui/change-form.tsx';
import { SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { Card, ErrorState, Loading, Notice } from '../../ui/surface.tsx';
import { SwitchField } from '../../ui/toggle-fields.tsx';
import { billingSettingsQuery } from './billing.ts';

/** The notice of a low balance, and auto top-up with its limits. */
export function SettingsCard() {
  const settings = useQuery(billingSettingsQuery);
  const catalog = useQuery(billingCatalogQuery);
  const error = settings.error ?? catalog.error;
  if (settings.data === undefined || catalog.data === undefined) {
    if (error === null) return <Loading label="Billing settings are loading" lines={5} />;
    return <ErrorState error={error} onRetry={() => void Promise.all([settings.refetch(), catalog.refetch()])} />;
  }
  return <SettingsForm settings={settings.data} catalog={catalog.data} />;
}

const amountFields = ['low_balance_usd', 'threshold_usd', 'monthly_limit_usd'];

function SettingsForm({ settings, catalog }: { settings: BillingSettingsAnswer; catalog: BillingCatalog }) {
  const [draft, setDraft] = useState<SettingsDraft>(() => draftOf(settings, catalog));
  const [draftErrors, setDraftErrors] = useState<Partial<Record<string, string>>>({});
  const client = useQueryClient();
  const saving = useChange({
    mutationFn: (body: BillingSettings) => call('PUT /v1/billing/settings', { body }),
    onSuccess: (saved) => {
      client.setQueryData(billingSettingsQuery.queryKey, saved);
      setDraft(draftOf(saved, catalog));
    },
    says: 'Billing settings are saved.',
  });
  const change = (part: Partial<SettingsDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const submit = (): void => {
    const read = readDraft(draft);
    setDraftErrors(read.ok ? {} : read.errors);
    if (read.ok) saving.mutate(read.settings);
  };
  const fieldError = (name: string): string | undefined =>
    draftErrors[name] ?? errorAt(saving.error, name) ?? errorAt(saving.error, `auto_top_up.${name}`);
  return (
    <Card title="Alerts and auto top-up">
      <Form
        change={saving}
        errors={amountFields.flatMap((name) => [name, `auto_top_up.${name}`])}
        action="Save"
        look="plain"
        noValidate
        className="space-y-5"
        onSubmit={submit}
      >
        {settings.low_balance && (
          <Notice tone="warn">
            The balance is below the {formatUsd(settings.low_balance_usd ?? 0)} at which you asked for a notice.
          </Notice>
        )}
        <TextField
          label="Warn me below"
          hint="USD. Empty: never."
          inputMode="decimal"
          className="max-w-xs"
          value={draft.lowBalance}
          error={fieldError('low_balance_usd')}
          onChange={(event) => change({ lowBalance: event.target.value })}
        />
        <SwitchField
          label="Auto top-up"
          hint={
            catalog.rails.card.enabled
              ? 'Charges your saved card when the balance falls below a threshold, one charge at a time and up to a monthly limit. First pay once by card with “Keep my card”.'
              : 'Needs payment by card, which this deployment does not offer.'
          }
          checked={draft.isAuto}
          disabled={!catalog.rails.card.enabled && !draft.isAuto}
          onChange={(isAuto) => change({ isAuto })}
        />
        {draft.isAuto && (
          <div className="grid gap-4 sm:grid-cols-3">
            <TextField
              label="When below"
              hint="USD"
              inputMode="decimal"
              value={draft.threshold}
              error={fieldError('threshold_usd')}
              onChange={(event) => change({ threshold: event.target.value })}
            />
            <SelectField
              label="Buy"
              value={draft.packageId}
              onChange={(packageId) => change({ packageId })}
              choices={catalog.packages.map(({ id, amount, total }) => ({
                value: id,
                label: `${formatUsd(amount)} for ${formatUsd(total)}`,
              }))}
            />
            <TextField
              label="Monthly limit"
              hint="USD, fees included"
              inputMode="decimal"
              value={draft.monthlyLimit}
              error={fieldError('monthly_limit_usd')}
              onChange={(event) => change({ monthlyLimit: event.target.value })}
            />
          </div>
        )}
        <AutoState settings={settings} />
      </Form>
    </Card>
  );
}

/** What receipts from now on say of the customer, beside name and address of the account. */
export function ReceiptDetailsCard() {
  const { data: settings } = useQuery(billingSettingsQuery);
  return settings === undefined ? null : <ReceiptDetails settings={settings} />;
}

function ReceiptDetails({ settings }: { settings: BillingSettingsAnswer }) {
  const [details, setDetails] = useState(settings.receipt_details ?? '');
  const client = useQueryClient();
  const saving = useChange({
    mutationFn: () =>
      call('PUT /v1/billing/settings', {
        body: { receipt_details: details.trim() === '' ? null : details },
      }),
    onSuccess: (saved) => client.setQueryData(billingSettingsQuery.queryKey, saved),
    says: 'Receipts from now on have these details.',
  });
  return (
    <Card title="Details on receipts">
      <Form
        change={saving}
        errors={['receipt_details']}
        action="Use on receipts"
        look="plain"
        onSubmit={() => saving.mutate()}
      >
        <TextAreaField
          label="Billed to"
          hint="Company, address and tax id, in up to six lines. Receipts that were issued stay as they are."
          rows={4}
          maxLength={400}
          value={details}
          error={errorAt(saving.error, 'receipt_details')}
          onChange={(event) => setDetails(event.target.value)}
        />
      </Form>
    </Card>
  );
}

function AutoState({ settings: { auto_top_up: auto, auto_top_up_state: state } }: { settings: BillingSettingsAnswer }) {
  if (auto === null) return null;
  return (
    <div className="space-y-2 text-sm text-muted">
      {state.paused !== null && (
        <Notice tone="warn">
          Paused: {state.paused.message} To continue, save these settings again or pay an order yourself.
        </Notice>
      )}
      <p>This month: {formatUsd(state.spent_this_month_usd)} by auto top-up.</p>
      {state.last_outcome !== null && (
        <p>
          Last time, {formatInstant(state.last_outcome.at)}: {state.last_outcome.message}
        </p>
      )}
    </div>
  );
}

/** Billing settings as the user types them. */
export interface SettingsDraft {
  readonly lowBalance: string;
  readonly isAuto: boolean;
  readonly threshold: string;
  readonly packageId: string;
  readonly monthlyLimit: string;
}

/** The first values of the form: the saved ones, or defaults that fit together. */
function draftOf(
  { low_balance_usd: low, auto_top_up: auto }: BillingSettingsAnswer,
  catalog: BillingCatalog,
): SettingsDraft {
  const first = catalog.packages[0];
  return {
    lowBalance: typedUsd(low),
    isAuto: auto?.enabled ?? false,
    threshold: typedUsd(auto?.threshold_usd ?? Math.min(5, first?.amount ?? 5)),
    packageId: auto?.package_id ?? first?.id ?? '',
    monthlyLimit: typedUsd(auto?.monthly_limit_usd ?? (first?.total ?? 0) * 4),
  };
}

type DraftReading =
  | { readonly ok: true; readonly settings: BillingSettings }
  | { readonly ok: false; readonly errors: Partial<Record<string, string>> };

/** Reads a draft; `errors` names the fields without an amount. */
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
