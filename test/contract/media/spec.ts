import type { Scene } from '../../kit/stage/scene.ts';
import type { ModelSpec, StageSpec } from '../../kit/stage/spec.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { answerImage, answerSpeech } from './answers.ts';

export type Operation = 'image' | 'speech';

export const timeouts = { connect_ms: 1000, first_byte_ms: 500, idle_ms: 600, total_ms: 60_000 } as const;
/** The total time limit of the provider `hasty`. */
export const hastyTotalMs = 4000;

/** USD per image and per million characters, by provider. */
const prices = {
  alpha: { image: 0.04, speech: 15 },
  beta: { image: 0.05, speech: 30 },
  gamma: { image: 0.01, speech: 1 },
  delta: { image: 0.01, speech: 1 },
  patient: { image: 0.01, speech: 1 },
  hasty: { image: 0.04, speech: 15 },
};
type ProviderId = keyof typeof prices;

/** Returns the price of an answer at a provider, in nano-USD. */
export const imageCost = (provider: ProviderId = 'alpha'): bigint => BigInt(Math.round(prices[provider].image * 1e9));
export const speechCost = (characters: number, provider: ProviderId = 'alpha'): bigint =>
  BigInt(characters * prices[provider].speech * 1000);

const shapes = {
  pair: ['alpha', 'beta'],
  single: ['alpha'],
  gamma: ['gamma', 'beta'],
  delta: ['delta', 'beta'],
  patient: ['patient'],
  hasty: ['hasty'],
} as const;
type Shape = keyof typeof shapes;

/** Returns an unused model. Default: `pair`, served by alpha, then beta. */
export const sceneOf = (stage: Pick<Stage, 'scene'>, operation: Operation, shape: Shape = 'pair'): Scene =>
  stage.scene(`${operation}-${shape}`);

const modelsOf = (operation: Operation): Record<string, ModelSpec> => {
  const [type, unit] = operation === 'image' ? (['image', 'image'] as const) : (['tts', 'input_characters'] as const);
  const routesTo = (ids: readonly ProviderId[]) =>
    Object.fromEntries(ids.map((id) => [id, { pricing: { [unit]: prices[id][operation] } }]));
  return Object.fromEntries(
    Object.entries(shapes).map(([shape, ids]) => [
      `${operation}-${shape}`,
      { type, copies: 50, routes: routesTo(ids) },
    ]),
  );
};

/** Providers of images and speech. `patient` has long time limits, for large answers. */
export const mediaSpec: StageSpec = {
  providers: {
    alpha: { timeouts },
    beta: { timeouts },
    gamma: { timeouts },
    delta: { timeouts },
    patient: {},
    hasty: { timeouts: { ...timeouts, total_ms: hastyTotalMs } },
  },
  models: { ...modelsOf('image'), ...modelsOf('speech'), 'text/chat': { routes: { alpha: [1, 2] } } },
  features: ['images', 'speech'],
  answers: () => (request, response) =>
    (request.path.endsWith('/images/generations') ? answerImage() : answerSpeech())(request, response),
};
