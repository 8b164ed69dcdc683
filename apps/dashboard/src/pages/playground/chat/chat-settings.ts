import type { ModelAnswer, PrivacyClass, RequestSort } from '@sotto/wire';
import type { ChatMessage } from './conversation.ts';

/** What a chat is asked with, as it was typed. Empty: not sent. */
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

/** What is wrong with what was typed: a sentence each. */
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

/** Efforts that some route of a model offers, in the order of the first that names them; empty: none. */
export const effortsOf = (model: ModelAnswer | undefined): readonly string[] => [
  ...new Set(model?.provider_routes.flatMap(({ capabilities }) => capabilities.reasoning?.efforts ?? [])),
];

/** The providers that serve any of some models, by id. */
export const providersOf = (models: readonly ModelAnswer[]): readonly string[] =>
  [...new Set(models.flatMap((model) => model.provider_routes.map(({ provider }) => provider)))].toSorted();

export interface ChatQuestion {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** What the model offers: settings that it does not are not sent. */
  readonly efforts: readonly string[];
  readonly providers: readonly string[];
}

/** The body of a chat completion. */
export function chatBody(settings: ChatSettings, { model, messages, efforts, providers }: ChatQuestion): object {
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
    ...(maxTokens.trim() === '' ? {} : { max_tokens: Number(maxTokens) }),
    ...(efforts.includes(effort) ? { reasoning_effort: effort } : {}),
    ...(Object.keys(policy).length === 0 ? {} : { provider: policy }),
  };
}
