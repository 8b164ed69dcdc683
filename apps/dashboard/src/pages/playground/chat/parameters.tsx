import type { ModelAnswer } from '@sotto/wire';
import { privacyClasses } from '@sotto/wire';
import { requestSortNames } from '../../../models/model-options.ts';
import { tiers } from '../../../ui/badge.tsx';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.tsx';
import { requestSorts } from '../../routing/preview/request-shape.ts';
import { type ChatSettings, effortsOf, outputOf, providersOf, type SettingsProblems } from './chat-settings.ts';

interface ParametersProps {
  readonly settings: ChatSettings;
  readonly change: (part: Partial<ChatSettings>) => void;
  readonly problems: SettingsProblems;
  /** Undefined: `/auto`. */
  readonly model: ModelAnswer | undefined;
  readonly models: readonly ModelAnswer[];
}

/** System prompt, sampling and demands on the route. An empty field uses the default that it shows. */
export function Parameters({ settings, change, problems, model, models }: ParametersProps) {
  const efforts = effortsOf(model);
  const providers = providersOf(model === undefined ? models : [model]);
  return (
    <div className="space-y-4">
      <TextAreaField
        label="System prompt"
        rows={3}
        value={settings.system}
        onChange={(event) => change({ system: event.target.value })}
      />
      <div className="grid grid-cols-2 gap-3">
        <TextField
          label="Temperature"
          inputMode="decimal"
          placeholder="The model’s"
          value={settings.temperature}
          error={problems.temperature}
          onChange={(event) => change({ temperature: event.target.value })}
        />
        <TextField
          label="Max output tokens"
          inputMode="numeric"
          placeholder={String(outputOf(model))}
          value={settings.maxTokens}
          error={problems.maxTokens}
          onChange={(event) => change({ maxTokens: event.target.value })}
        />
      </div>
      {efforts.length > 0 && (
        <SelectField
          label="Reasoning effort"
          value={efforts.includes(settings.effort) ? settings.effort : ''}
          choices={[{ value: '', label: 'The model’s' }, ...efforts.map((one) => ({ value: one, label: one }))]}
          onChange={(effort) => change({ effort })}
        />
      )}
      <SelectField
        label="Provider"
        value={providers.includes(settings.provider) ? settings.provider : ''}
        choices={[{ value: '', label: 'Any' }, ...providers.map((one) => ({ value: one, label: `Only ${one}` }))]}
        onChange={(provider) => change({ provider })}
      />
      <SelectField
        label="Minimum privacy"
        value={settings.minimumPrivacy}
        choices={[
          { value: '', label: 'The workspace’s' },
          ...privacyClasses
            .filter((one) => one !== 'e2ee')
            .map((one) => ({ value: one, label: `${tiers[one].name} or stronger` })),
        ]}
        onChange={(minimumPrivacy) => change({ minimumPrivacy })}
      />
      <SelectField
        label="Sort"
        value={settings.sort}
        choices={[
          { value: '', label: 'The workspace’s' },
          ...requestSorts.map((one) => ({ value: one, label: requestSortNames[one] })),
        ]}
        onChange={(sort) => change({ sort })}
      />
    </div>
  );
}
