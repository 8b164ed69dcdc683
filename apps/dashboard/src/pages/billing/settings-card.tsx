import type { BillingCatalog, BillingSettings, BillingSettingsAnswer } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { formatUsd } from '../../format/money.ts';
import { formatInstant } from '../../format/time.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState, Notice } from '../../ui/surface.tsx';
import { SwitchField } from '../../ui/switch-field.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { billingCatalogQuery, billingSettingsQuery, saveBillingSettings } from './billing-queries.ts';
import { draftOf, readDraft, type SettingsDraft } from './settings-draft.ts';

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
  const [draft, setDraft] = useState<SettingsDraft>(() => draftOf(settings, catalog));
  const [draftErrors, setDraftErrors] = useState<Partial<Record<string, string>>>({});
  const client = useQueryClient();
  const announce = useAnnounce();
  const saving = useChange({
    mutationFn: (wanted: BillingSettings) => saveBillingSettings(wanted),
    onSuccess: (saved) => {
      client.setQueryData(billingSettingsQuery.queryKey, saved);
      setDraft(draftOf(saved, catalog));
      announce({ text: 'Billing settings are saved.' });
    },
  });
  const change = (part: Partial<SettingsDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const read = readDraft(draft);
    setDraftErrors(read.ok ? {} : read.errors);
    if (read.ok) saving.mutate(read.settings);
  };
  const refused = saving.error instanceof ApiError ? saving.error : undefined;
  const errorAt = (param: string): string | undefined =>
    draftErrors[param] ?? (refused?.param === param ? refused.message : undefined);
  const isSaid = ['low_balance_usd', 'threshold_usd', 'monthly_limit_usd'].some((name) =>
    [name, `auto_top_up.${name}`].includes(refused?.param ?? ''),
  );
  return (
    <Card title="Alerts and auto top-up">
      <form onSubmit={submit} noValidate className="space-y-5">
        {settings.low_balance && (
          <Notice tone="warn">
            The balance is below the {formatUsd(settings.low_balance_usd ?? 0)} you asked to be told about.
          </Notice>
        )}
        <TextField
          label="Warn me below"
          hint="USD. Empty: never."
          inputMode="decimal"
          className="max-w-xs"
          value={draft.lowBalance}
          error={errorAt('low_balance_usd')}
          onChange={(event) => change({ lowBalance: event.target.value })}
        />
        <SwitchField
          label="Auto top-up"
          hint={
            catalog.rails.card.enabled
              ? 'Charges your saved card when the balance falls below a threshold, at most one at a time and within the month’s limit. Pay once by card with “Keep my card” first.'
              : 'Needs payment by card, which this deployment has switched off.'
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
              error={errorAt('threshold_usd') ?? errorAt('auto_top_up.threshold_usd')}
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
              label="At most a month"
              hint="USD, fees included"
              inputMode="decimal"
              value={draft.monthlyLimit}
              error={errorAt('monthly_limit_usd') ?? errorAt('auto_top_up.monthly_limit_usd')}
              onChange={(event) => change({ monthlyLimit: event.target.value })}
            />
          </div>
        )}
        <AutoState settings={settings} />
        {saving.isError && !isSaid && (
          <p role="alert" className="text-danger">
            {sentenceOf(saving.error)}
          </p>
        )}
        <Button type="submit" busy={saving.isPending}>
          Save
        </Button>
      </form>
    </Card>
  );
}

function AutoState({ settings: { auto_top_up: auto, auto_top_up_state: state } }: { settings: BillingSettingsAnswer }) {
  if (auto === null) return null;
  return (
    <div className="space-y-2 text-sm text-muted">
      {state.paused !== null && (
        <Notice tone="warn">
          Paused: {state.paused.message} Save these settings again, or pay an order by hand, to go on.
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
