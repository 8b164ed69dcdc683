import { RadioCards, TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/surface.tsx';
import type { SettingsProps } from './settings-props.ts';

const sorts = [
  { value: 'default', label: 'Default', text: 'Weighs tier, cost, speed and success; close ones share traffic.' },
  { value: 'privacy', label: 'Privacy', text: 'Strongest tier, then health, then price.' },
  { value: 'price', label: 'Price', text: 'Cheapest first, Private or stronger.' },
  { value: 'latency', label: 'Latency', text: 'Fastest first token of 24 hours, Private or stronger.' },
  { value: 'throughput', label: 'Throughput', text: 'Most tokens per second of 24 hours, Private or stronger.' },
] as const;

/** Which route comes first, and which are too dear. */
export function OrderSettings({ draft, change, disabled, problems }: SettingsProps) {
  return (
    <Card title="Order and price">
      <div className="space-y-5">
        <RadioCards
          legend="Default sort"
          hint="For every request that sends no provider settings of its own. Routes that failed lately come last."
          value={draft.provider_sort}
          choices={sorts}
          disabled={disabled}
          onChange={(chosen) => change({ provider_sort: chosen })}
        />
        <fieldset className="space-y-2" disabled={disabled}>
          <legend className="text-sm font-medium">Price ceiling</legend>
          <p className="text-sm text-muted">
            USD per million tokens. Dearer routes are not used; a request may only lower it. Empty: no ceiling.
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
