import type { RoutingPreview } from '@sotto/contract/control/routing';
import type { PrivacyClass, RequestSort } from '@sotto/wire';
import { privacyClasses } from '@sotto/wire';
import { autoModelId } from '../../../models/model-options.ts';

export const needs = ['tools', 'vision', 'structured_output'] as const;
export type Need = (typeof needs)[number];

export const requestSorts: readonly RequestSort[] = ['privacy', 'price', 'latency', 'throughput'];

/** A request without its content, as the address of the page keeps it. Absent fields have the preview's default. */
export interface RequestShape {
  readonly model?: string;
  readonly prompt_tokens?: number;
  readonly max_tokens?: number;
  readonly needs?: readonly Need[];
  readonly minimum_privacy?: PrivacyClass;
  readonly sort?: RequestSort;
}

/** Default length of the prompt in the preview. */
export const defaultPromptTokens = 1000;

/** Reads a shape from an address; leaves out what is malformed. */
export function readShape(search: Readonly<Record<string, unknown>>): RequestShape {
  const { model, needs: asked } = search;
  const prompt = readTokens(search.prompt_tokens, 0);
  const max = readTokens(search.max_tokens, 1);
  const chosen = needs.filter((need) => Array.isArray(asked) && asked.includes(need));
  const tier = privacyClasses.find((one) => one === search.minimum_privacy);
  const sort = requestSorts.find((one) => one === search.sort);
  return {
    ...(typeof model === 'string' && model !== '' && model.length <= 256 ? { model } : {}),
    ...(prompt === undefined ? {} : { prompt_tokens: prompt }),
    ...(max === undefined ? {} : { max_tokens: max }),
    ...(chosen.length === 0 ? {} : { needs: chosen }),
    ...(tier === undefined ? {} : { minimum_privacy: tier }),
    ...(sort === undefined ? {} : { sort }),
  };
}

const mostTokens = 100_000_000;

/** Reads a count of tokens from a field or an address; undefined if it is not one. */
export function readTokens(value: unknown, least: 0 | 1): number | undefined {
  const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof count === 'number' && Number.isInteger(count) && count >= least && count <= mostTokens
    ? count
    : undefined;
}

/** The body of a preview, without workspace and preferences. */
export function requestOf(shape: RequestShape): RoutingPreview {
  const { model = autoModelId, prompt_tokens = defaultPromptTokens, max_tokens, minimum_privacy, sort } = shape;
  const provider = {
    ...(minimum_privacy === undefined ? {} : { minimum_privacy }),
    ...(sort === undefined ? {} : { sort }),
  };
  return {
    model,
    prompt_tokens,
    ...(max_tokens === undefined ? {} : { max_tokens }),
    ...Object.fromEntries((shape.needs ?? []).map((need) => [need, true])),
    ...(Object.keys(provider).length === 0 ? {} : { provider }),
  };
}
