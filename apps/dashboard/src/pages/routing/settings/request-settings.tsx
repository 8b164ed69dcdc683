import { privacyClasses } from '@sotto/wire';
import { RadioCards, SelectField, TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/surface.tsx';
import { SwitchField } from '../../../ui/toggle-fields.tsx';
import { boundaryTier, isWeaker, tierName } from '../boundaries.ts';
import { effectiveTiers, type SettingsProps } from '../draft.ts';

const boundaries = [
  {
    value: 'Standard',
    label: 'Anonymous or stronger',
    text: 'Every tier, including providers that may keep content. In the API: Standard.',
  },
  {
    value: 'Private',
    label: 'Private or stronger',
    text: 'Providers that neither keep content nor train on it. In the API: Private.',
  },
  { value: 'Maximum', label: 'TEE or stronger', text: 'Attested enclaves only. In the API: Maximum.' },
] as const;

/** How private the workspace's requests are, at least. */
export function PrivacySettings({ draft, change, disabled }: SettingsProps) {
  const { privacy_boundary: boundary, provider_minimum_privacy: minimum } = draft;
  const floor = boundaryTier[boundary];
  return (
    <Card title="Privacy" lead="A request can require more privacy than this, but not less.">
      <div className="space-y-5">
        <RadioCards
          legend="Privacy boundary"
          hint="The weakest tier that any request of this workspace may use."
          value={boundary}
          choices={boundaries}
          disabled={disabled}
          onChange={(chosen) => change({ privacy_boundary: chosen })}
        />
        <SelectField
          label="Minimum privacy"
          hint="Narrows the boundary further, down to one tier. End-to-end-encrypted routes accept only encrypted requests."
          className="max-w-md"
          disabled={disabled}
          value={isWeaker(floor, minimum) ? minimum : 'anonymous'}
          onChange={(chosen) => change({ provider_minimum_privacy: chosen })}
          choices={privacyClasses
            .filter((tier) => tier === 'anonymous' || isWeaker(floor, tier))
            .map((tier) => ({
              value: tier,
              label:
                tier === 'anonymous'
                  ? `The boundary (${tierName(floor)} or stronger)`
                  : `${tierName(tier)} or stronger`,
            }))}
        />
      </div>
    </Card>
  );
}

const sorts = [
  { value: 'default', label: 'Default', text: 'Weighs tier, cost, speed and success. Close routes share traffic.' },
  { value: 'privacy', label: 'Privacy', text: 'Strongest tier, then health, then price.' },
  { value: 'price', label: 'Price', text: 'Cheapest first, Private or stronger.' },
  { value: 'latency', label: 'Latency', text: 'Fastest first token of 24 hours, Private or stronger.' },
  { value: 'throughput', label: 'Throughput', text: 'Most tokens per second of 24 hours, Private or stronger.' },
] as const;

/** The order of routes, and the price ceiling. */
export function OrderSettings({ draft, change, disabled, problems }: SettingsProps) {
  return (
    <Card title="Order and price">
      <div className="space-y-5">
        <RadioCards
          legend="Default sort"
          hint="For requests without their own provider settings. Routes that failed recently come last."
          value={draft.provider_sort}
          choices={sorts}
          disabled={disabled}
          onChange={(chosen) => change({ provider_sort: chosen })}
        />
        <fieldset className="space-y-2" disabled={disabled}>
          <legend className="text-sm font-medium">Price ceiling</legend>
          <p className="text-sm text-muted">
            In $ per million tokens. Routes above it are not used. A request can only lower it. Empty: no ceiling.
          </p>
          <div className="grid gap-4 sm:max-w-md sm:grid-cols-2">
            <TextField
              label="Input"
              inputMode="decimal"
              placeholder="No ceiling"
              value={draft.maxInput}
              error={problems.maxInput}
              onChange={(event) => change({ maxInput: event.target.value })}
            />
            <TextField
              label="Output"
              inputMode="decimal"
              placeholder="No ceiling"
              value={draft.maxOutput}
              error={problems.maxOutput}
              onChange={(event) => change({ maxOutput: event.target.value })}
            />
          </div>
        </fieldset>
      </div>
    </Card>
  );
}

const none = 'none';

/** The settings for a provider that fails before any output. */
export function FallbackSettings({ draft, change, disabled }: SettingsProps) {
  const { provider_allow_fallbacks: allowed, provider_max_attempts: attempts } = draft;
  const boundary = boundaryTier[draft.privacy_boundary];
  return (
    <Card
      title="Fallback"
      lead="When a provider fails before any output, another one is tried. Failed attempts are free."
    >
      <div className="space-y-5">
        <SwitchField
          label="Allow fallback to another provider"
          hint={allowed ? 'Off means one attempt.' : 'Off: one attempt, whose error is returned.'}
          checked={allowed}
          disabled={disabled}
          onChange={(checked) => change({ provider_allow_fallbacks: checked })}
        />
        {allowed && (
          <>
            <RadioCards
              legend="Retries on another provider"
              value={String(attempts - 1)}
              disabled={disabled}
              onChange={(retries) => change({ provider_max_attempts: Number(retries) + 1 })}
              choices={[
                // Only the API can set this.
                ...(attempts === 1 ? [{ value: '0', label: '0', text: 'One provider in total.' }] : []),
                { value: '1', label: '1', text: 'Up to two providers in total.' },
                { value: '2', label: '2', text: 'Up to three providers in total.' },
              ]}
            />
            <SelectField
              label="Weakest tier for fallback"
              hint="By default, a fallback is as private as the first route. You cannot choose tiers below the boundary."
              className="max-w-md"
              disabled={disabled}
              value={effectiveTiers(draft).fallback ?? none}
              onChange={(chosen) => change({ fallback_floor: chosen === none ? null : chosen })}
              choices={[
                { value: none, label: 'No step down' },
                ...privacyClasses.map((tier) => ({
                  value: tier,
                  label: `Down to ${tierName(tier)}`,
                  disabled: isWeaker(tier, boundary),
                })),
              ]}
            />
          </>
        )}
      </div>
    </Card>
  );
}
