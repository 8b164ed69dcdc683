import type { ModelAnswer, PrivacyClass, RequestSort } from '@sotto/wire';
import type { ChatMessage } from './conversation.ts';

/** The parameters of a chat, as typed. Empty ones are not sent, but for `maxTokens`. */
export interface ChatSettings {
  readonly system: string;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly effort: string;
  readonly provider: string;
  readonly minimumPrivacy: PrivacyClass | '';
  readonly sort: RequestSort | '';
}

export const initialSettings: ChatSettings = {
  system: '',
  temperature: '',
  maxTokens: '',
  effort: '',
  provider: '',
  minimumPrivacy: '',
  sort: '',
};

export type SettingsProblems = { readonly [field in 'temperature' | 'maxTokens']?: string };

/** A sentence for each field with a mistake. */
export function problemsOf({ temperature, maxTokens }: ChatSettings): SettingsProblems {
  const warmth = Number(temperature);
  const most = Number(maxTokens);
  return {
    ...(temperature.trim() !== '' && !(warmth >= 0 && warmth <= 2) ? { temperature: 'A number from 0 to 2.' } : {}),
    ...(maxTokens.trim() !== '' && !(Number.isInteger(most) && most >= 1 && most <= 10_000_000)
      ? { maxTokens: 'A whole number, 1 or more.' }
      : {}),
  };
}

/** The reasoning efforts that the routes of a model offer, each once. */
export const effortsOf = (model: ModelAnswer | undefined): readonly string[] => [
  ...new Set(model?.provider_routes.flatMap(({ capabilities }) => capabilities.reasoning?.efforts ?? [])),
];

/** The providers that serve any of some models, by id. */
export const providersOf = (models: readonly ModelAnswer[]): readonly string[] =>
  [...new Set(models.flatMap((model) => model.provider_routes.map(({ provider }) => provider)))].toSorted();

/** Output tokens of an answer, unless the user says otherwise. The service sets money aside for all of them. */
const usualOutput = 2048;

/** The output tokens that a field left empty stands for: no more than a route of the model can give. Undefined: `/auto`. */
export function outputOf(model: ModelAnswer | undefined): number {
  if (model === undefined) return usualOutput;
  const { provider_routes: routes, max_output_tokens: own } = model;
  return Math.min(usualOutput, Math.max(...routes.map((route) => route.max_output_tokens ?? own ?? usualOutput)));
}

interface ChatQuestion {
  readonly model: string;
  /** The output tokens of an answer, if the settings do not state them. */
  readonly usualOutput: number;
  readonly messages: readonly ChatMessage[];
  /** The efforts that the model offers. Settings that it does not offer are not sent. */
  readonly efforts: readonly string[];
  readonly providers: readonly string[];
}

/** The body of a request for inference. */
export interface RequestBody {
  readonly model: string;
  readonly [field: string]: unknown;
}

/** The body of a chat completion. */
export function chatBody(
  settings: ChatSettings,
  { model, messages, efforts, providers, usualOutput }: ChatQuestion,
): RequestBody {
  const { temperature, maxTokens, effort, provider, minimumPrivacy, sort } = settings;
  const policy = {
    ...(providers.includes(provider) ? { only: [provider] } : {}),
    ...(minimumPrivacy === '' ? {} : { minimum_privacy: minimumPrivacy }),
    ...(sort === '' ? {} : { sort }),
  };
  return {
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature.trim() === '' ? {} : { temperature: Number(temperature) }),
    max_tokens: maxTokens.trim() === '' ? usualOutput : Number(maxTokens),
    ...(efforts.includes(effort) ? { reasoning_effort: effort } : {}),
    ...(Object.keys(policy).length === 0 ? {} : { provider: policy }),
  };
}
