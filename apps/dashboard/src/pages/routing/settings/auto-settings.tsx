import type { ModelAnswer } from '@sotto/wire';
import { isOffered } from '../../../models/model-options.ts';
import { CheckList } from '../../../ui/check-list.tsx';
import { RadioCards } from '../../../ui/field.tsx';
import { Card } from '../../../ui/surface.tsx';
import { isWeakerBoundary } from '../boundaries.ts';
import { effectiveTiers, type SettingsProps } from '../draft.ts';

const strategies = [
  { value: 'balanced', label: 'Balanced', text: 'Strongest tier, then cost, speed and success together.' },
  { value: 'cheapest', label: 'Cheapest', text: 'Lowest price, then strongest tier.' },
  { value: 'fastest', label: 'Fastest', text: 'Shortest time to first token, then price.' },
  { value: 'most_private', label: 'Most private', text: 'Strongest tier, then price.' },
] as const;

const tiers = [
  { value: 'Standard', label: 'Anonymous or stronger', text: 'Every tier. In the API: Standard.' },
  { value: 'Private', label: 'Private or stronger', text: 'In the API: Private.' },
  { value: 'Maximum', label: 'TEE or stronger', text: 'Attested enclaves only. In the API: Maximum.' },
] as const;

const modes = [
  { value: 'all', label: 'All models' },
  { value: 'only', label: 'Only these' },
  { value: 'except', label: 'All except these' },
] as const;

const notInCatalog = <span className="text-sm text-muted">not in the catalog</span>;

/** How `/auto` chooses a model. */
export function AutoSettings({
  draft,
  change,
  disabled,
  problems,
  models,
}: SettingsProps & { readonly models: readonly ModelAnswer[] }) {
  const { auto, privacy_boundary: boundary } = draft;
  const { mode, ids } = auto.models;
  const choose = (chosen: typeof auto.models): void => change({ auto: { ...auto, models: chosen } });
  const text = models.filter((model) => model.model_type === 'text' && isOffered(model));
  const gone = ids.filter((id) => !text.some((model) => model.id === id));
  return (
    <Card
      title="Auto router"
      lead="Chooses the model for requests to /auto. Requests that name a model are not affected."
    >
      <div className="space-y-5">
        <RadioCards
          legend="Strategy"
          value={auto.strategy}
          choices={strategies}
          disabled={disabled}
          onChange={(strategy) => change({ auto: { ...auto, strategy } })}
        />
        <RadioCards
          legend="Allowed tiers"
          hint="Never below the privacy boundary."
          value={effectiveTiers(draft).auto}
          disabled={disabled}
          choices={tiers.map((choice) => ({ ...choice, disabled: isWeakerBoundary(choice.value, boundary) }))}
          onChange={(chosen) => change({ auto: { ...auto, tiers: chosen } })}
        />
        <RadioCards
          legend="Allowed models"
          value={mode}
          choices={modes}
          disabled={disabled}
          onChange={(chosen) => choose({ mode: chosen, ids })}
        />
        {mode !== 'all' && (
          <CheckList
            legend={mode === 'only' ? 'Allowed models' : 'Excluded models'}
            searchLabel="Search models"
            error={problems.models}
            disabled={disabled}
            isChecked={(id) => ids.includes(id)}
            onToggle={(id, checked) => choose({ mode, ids: checked ? [...ids, id] : ids.filter((one) => one !== id) })}
            items={[
              ...text.map(({ id }) => ({ id, label: id })),
              ...gone.map((id) => ({ id, label: id, detail: notInCatalog })),
            ]}
          />
        )}
      </div>
    </Card>
  );
}
