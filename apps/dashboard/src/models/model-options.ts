import type { ModelAnswer, RequestSort } from '@sotto/wire';
import { formatCompact, formatCountOf } from '../format/format.ts';
import type { ComboboxOption } from '../ui/combobox.tsx';

/** The id that lets the service choose the model. */
export const autoModelId = '/auto';

export const autoOption: ComboboxOption = {
  value: autoModelId,
  label: autoModelId,
  detail: 'The service chooses the model, by the settings of Auto.',
};

/** Whether any provider serves a model. `/auto` has no routes of its own. */
export const isOffered = ({ provider_routes }: ModelAnswer): boolean => provider_routes.length > 0;

/** Models as options of a list, each with name, routes and context. */
export const modelOptions = (models: readonly ModelAnswer[]): readonly ComboboxOption[] =>
  models.filter(isOffered).map(({ id, name, provider_routes: { length: routes }, context_length: context }) => ({
    value: id,
    label: id,
    detail: [
      ...(name === id ? [] : [name]),
      formatCountOf(routes, 'route'),
      ...(context === null ? [] : [`${formatCompact(context)} context`]),
    ].join(' · '),
  }));

/** Names of the sorts that a request can ask for. */
export const requestSortNames: Readonly<Record<RequestSort, string>> = {
  privacy: 'Privacy',
  price: 'Price',
  latency: 'Latency',
  throughput: 'Throughput',
};
