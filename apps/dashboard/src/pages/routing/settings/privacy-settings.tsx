import { tierOrder } from '../../../ui/badge.tsx';
import { RadioCards, SelectField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/surface.tsx';
import { boundaryTier, isWeaker, tierName } from '../boundaries.ts';
import type { SettingsProps } from './settings-props.ts';

const boundaries = [
  { value: 'Standard', label: 'Standard', text: 'Every tier, also providers that may keep content.' },
  { value: 'Private', label: 'Private', text: 'Providers that neither keep content nor train on it, or stronger.' },
  { value: 'Maximum', label: 'Maximum', text: 'Attested enclaves only: TEE and E2EE.' },
] as const;

/** How private the workspace's requests are, at least. */
export function PrivacySettings({ draft, change, disabled }: SettingsProps) {
  const { privacy_boundary: boundary, provider_minimum_privacy: minimum } = draft;
  const floor = boundaryTier[boundary];
  return (
    <Card title="Privacy" lead="A request may ask for more privacy than this, never for less.">
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
          hint="Narrows the boundary further, down to one tier. End-to-end-encrypted routes take encrypted requests only."
          className="max-w-md"
          disabled={disabled}
          value={isWeaker(floor, minimum) ? minimum : 'anonymous'}
          onChange={(chosen) => change({ provider_minimum_privacy: chosen })}
          choices={tierOrder
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
