import type { ModelAnswer } from '@sotto/wire';
import { formatCompact } from '../format/numbers.ts';
import type { ComboboxOption } from '../ui/combobox.tsx';

/** The id that lets the service choose the model (interface 2.1). */
export const autoModelId = '/auto';

export const autoOption: ComboboxOption = {
  value: autoModelId,
  label: autoModelId,
  detail: 'The service chooses the model, by the settings of the auto router.',
};

/** Models as choices of a list, each with what tells it from others. */
export const modelOptions = (models: readonly ModelAnswer[]): readonly ComboboxOption[] =>
  models
    .filter(({ provider_routes }) => provider_routes.length > 0)
    .map(({ id, name, provider_routes: { length: routes }, context_length: context }) => ({
      value: id,
      label: id,
      detail: [
        ...(name === id ? [] : [name]),
        routes === 1 ? '1 route' : `${String(routes)} routes`,
        ...(context === null ? [] : [`${formatCompact(context)} context`]),
      ].join(' · '),
    }));
