import { type ModelAnswer, preferredModel } from '@sotto/wire';
import { autoModelId, isOffered } from '../../models/model-options.ts';
import type { Mode, PlaygroundSearch, Way } from './playground-search.ts';

const modelTypes: Readonly<Record<Mode, ModelAnswer['model_type']>> = { chat: 'text', image: 'image', speech: 'tts' };

/** The models that can be asked for something. */
export const modelsOf = (models: readonly ModelAnswer[], mode: Mode): readonly ModelAnswer[] =>
  models.filter((model) => model.model_type === modelTypes[mode] && isOffered(model));

/** The model to use: the one in the address if it is offered, else the preferred one, else `/auto`. */
export function chosenModel(offered: readonly ModelAnswer[], mode: Mode, asked: string | undefined): string {
  if (asked === autoModelId && mode === 'chat') return autoModelId;
  return (offered.find(({ id }) => id === asked) ?? preferredModel(offered))?.id ?? autoModelId;
}

/** The ways in which a model can be asked. Media go by ticket only; encryption takes a route that it is encrypted for. */
export function waysFor(mode: Mode, model: ModelAnswer | undefined): readonly Way[] {
  const routes = model?.provider_routes ?? [];
  const hasSealed = routes.some(({ privacy_class }) => privacy_class === 'e2ee');
  if (mode !== 'chat') return ['private'];
  if (hasSealed && routes.every(({ privacy_class }) => privacy_class === 'e2ee')) return ['e2ee'];
  return hasSealed ? ['private', 'e2ee', 'compatibility'] : ['private', 'compatibility'];
}

export interface Offered {
  readonly models: readonly ModelAnswer[];
  readonly modes: readonly Mode[];
  /** The ways that the page can send content by. */
  readonly ways: readonly Way[];
}

/** The choices of the user where they are offered, and a default in place of others. */
export interface Chosen {
  readonly mode: Mode;
  /** The models of the mode. */
  readonly models: readonly ModelAnswer[];
  readonly modelId: string;
  /** Undefined: `/auto`. */
  readonly model: ModelAnswer | undefined;
  readonly offersAuto: boolean;
  /** The model that is asked the same beside it; undefined: none. */
  readonly compared: ModelAnswer | undefined;
  readonly way: Way;
  /** The ways of the model. */
  readonly ways: readonly Way[];
}

export function chooseFrom(offered: Offered, search: PlaygroundSearch): Chosen {
  const mode = offered.modes.find((one) => one === search.mode) ?? 'chat';
  const models = modelsOf(offered.models, mode);
  const modelId = chosenModel(models, mode, search.model);
  const model = models.find(({ id }) => id === modelId);
  const waysOf = (one: ModelAnswer | undefined): readonly Way[] =>
    waysFor(mode, one).filter((way) => offered.ways.includes(way));
  const ways = waysOf(model);
  const way = ways.find((one) => one === search.way) ?? ways[0] ?? offered.ways[0] ?? 'private';
  const offersAuto = mode === 'chat' && waysOf(undefined).length > 0;
  // The other model must be reachable in the same way.
  const compared = models.find((one) => mode === 'chat' && one.id === search.compare && waysOf(one).includes(way));
  return { mode, models, modelId, model, offersAuto, compared: compared === model ? undefined : compared, way, ways };
}
