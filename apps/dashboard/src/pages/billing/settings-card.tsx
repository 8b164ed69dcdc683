import type { BillingCatalog, BillingSettingsAnswer } from '@sotto/contract/control/billing';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { billingCatalogQuery } from '../../api/queries.ts';
import { useForm } from '../../api/use-form.ts';
import { formatInstant, formatUsd } from '../../format/format.ts';
import { SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
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

function SettingsForm({ settings, catalog }: { settings: BillingSettingsAnswer; catalog: BillingCatalog }) {
  const [isAuto, setAuto] = useState(settings.auto_top_up?.enabled ?? false);
  const client = useQueryClient();
  const start = startOf(settings, catalog);
  const form = useForm('PUT /v1/billing/settings', {
    start,
    rest: isAuto ? { 'auto_top_up.enabled': true } : { auto_top_up: null },
    clears: ['low_balance_usd', 'auto_top_up.threshold_usd', 'auto_top_up.package_id', 'auto_top_up.monthly_limit_usd'],
    onSuccess: (saved) => client.setQueryData(billingSettingsQuery.queryKey, saved),
    says: 'Billing settings are saved.',
  });
  return (
    <Card title="Alerts and auto top-up">
      <Form form={form} action="Save" look="plain" className="space-y-5">
        {settings.low_balance && (
          <Notice tone="warn">
            The balance is below the {formatUsd(settings.low_balance_usd ?? 0)} at which you asked for a notice.
          </Notice>
        )}
        <TextField
          {...form.text('low_balance_usd')}
          label="Warn me below ($)"
          hint="Empty: never."
          className="max-w-xs"
        />
        <SwitchField
          label="Auto top-up"
          hint={
            catalog.rails.card.enabled
              ? 'Charges your saved card when the balance falls below a threshold, one charge at a time and up to a monthly limit. First pay once by card with “Keep my card”.'
              : 'Needs payment by card, which this deployment does not offer.'
          }
          checked={isAuto}
          disabled={!catalog.rails.card.enabled && !isAuto}
          onChange={setAuto}
        />
        {isAuto && (
          <div className="grid gap-4 sm:grid-cols-3">
            <TextField {...form.text('auto_top_up.threshold_usd')} label="When below ($)" />
            <SelectField
              {...form.choice('auto_top_up.package_id')}
              label="Buy"
              choices={catalog.packages.map(({ id, amount, total }) => ({
                value: id,
                label: `${formatUsd(amount)} for ${formatUsd(total)}`,
              }))}
            />
            <TextField
              {...form.text('auto_top_up.monthly_limit_usd')}
              label="Monthly limit ($)"
              hint="Fees included."
            />
          </div>
        )}
        <AutoState settings={settings} />
      </Form>
    </Card>
  );
}

/** The first values of the form: the saved ones, or defaults that fit together. */
function startOf({ low_balance_usd, auto_top_up: auto }: BillingSettingsAnswer, { packages: [first] }: BillingCatalog) {
  return {
    low_balance_usd,
    'auto_top_up.threshold_usd': auto?.threshold_usd ?? Math.min(5, first?.amount ?? 5),
    'auto_top_up.package_id': auto?.package_id ?? first?.id ?? '',
    'auto_top_up.monthly_limit_usd': auto?.monthly_limit_usd ?? (first?.total ?? 0) * 4,
  };
}

/** What receipts from now on say of the customer, beside name and address of the account. */
export function ReceiptDetailsCard() {
  const { data: settings } = useQuery(billingSettingsQuery);
  return settings === undefined ? null : <ReceiptDetails settings={settings} />;
}

function ReceiptDetails({ settings: { receipt_details } }: { settings: BillingSettingsAnswer }) {
  const client = useQueryClient();
  const form = useForm('PUT /v1/billing/settings', {
    start: { receipt_details },
    place: 'receipts',
    clears: ['receipt_details'],
    onSuccess: (saved) => client.setQueryData(billingSettingsQuery.queryKey, saved),
    says: 'Receipts from now on have these details.',
  });
  return (
    <Card title="Details on receipts">
      <Form form={form} action="Use on receipts" look="plain">
        <TextAreaField
          {...form.text('receipt_details')}
          label="Billed to"
          hint="Company, address and tax id, in up to six lines. Receipts that were issued stay as they are."
          rows={4}
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
        <Notice tone="warn">Paused: {state.paused.message} To continue, save these settings again.</Notice>
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
