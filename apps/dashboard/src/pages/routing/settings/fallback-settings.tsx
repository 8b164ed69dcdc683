import { tierOrder } from '../../../ui/badge.tsx';
import { RadioCards, SelectField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/surface.tsx';
import { SwitchField } from '../../../ui/switch-field.tsx';
import { boundaryTier, isWeaker, tierName } from '../boundaries.ts';
import { effectiveTiers } from '../draft.ts';
import type { SettingsProps } from './settings-props.ts';

const none = 'none';

/** What happens when a provider fails before any output. */
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
          hint={allowed ? 'Off means one attempt.' : 'Off: one attempt, and its error is the answer.'}
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
                // Only an API can have set this.
                ...(attempts === 1 ? [{ value: '0', label: '0', text: 'One provider in all.' }] : []),
                { value: '1', label: '1', text: 'Up to two providers in all.' },
                { value: '2', label: '2', text: 'Up to three providers in all.' },
              ]}
            />
            <SelectField
              label="How far fallback may step down"
              hint="By default a fallback is as private as the first route. Tiers below the boundary cannot be chosen."
              className="max-w-md"
              disabled={disabled}
              value={effectiveTiers(draft).fallback ?? none}
              onChange={(chosen) => change({ fallback_floor: chosen === none ? null : chosen })}
              choices={[
                { value: none, label: 'No step down' },
                ...tierOrder.map((tier) => ({
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
