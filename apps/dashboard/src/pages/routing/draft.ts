import type { Boundary, MaxPrice, Preferences, PrivacyClass } from '@sotto/wire';
import { readUsd } from '../../format/read-usd.ts';
import { boundaryTier, isWeaker, isWeakerBoundary } from './boundaries.ts';

/** Preferences while they are edited: as they will be saved, but for prices, which are what was typed. */
export interface Draft extends Omit<Preferences, 'max_price'> {
  readonly maxInput: string;
  readonly maxOutput: string;
}

export function draftOf({ max_price: price, ...rest }: Preferences): Draft {
  return { ...rest, maxInput: text(price?.input), maxOutput: text(price?.output) };
}

const text = (price: number | undefined): string => (price === undefined ? '' : String(price));

/** What is wrong with a draft, by its field: a sentence each. */
export type DraftProblems = { readonly [field in 'maxInput' | 'maxOutput' | 'models']?: string };

/** A draft as preferences; fields that are not right yet are left as if they were empty, and named. */
export function readDraft({ maxInput, maxOutput, ...rest }: Draft): {
  readonly preferences: Preferences;
  readonly problems: DraftProblems;
} {
  const input = readUsd(maxInput);
  const output = readUsd(maxOutput);
  const max_price: MaxPrice = {
    ...(typeof input === 'number' ? { input } : {}),
    ...(typeof output === 'number' ? { output } : {}),
  };
  const { mode, ids } = rest.auto.models;
  return {
    preferences: { ...rest, max_price: Object.keys(max_price).length === 0 ? null : max_price },
    problems: {
      ...(input === undefined ? { maxInput: priceProblem } : {}),
      ...(output === undefined ? { maxOutput: priceProblem } : {}),
      ...(mode === 'only' && ids.length === 0 ? { models: 'Choose at least one model, or allow all.' } : {}),
    },
  };
}

const priceProblem = 'A price is a number such as 2.5: USD per million tokens, from 0 to 1,000,000.';

/** The tiers that a draft's boundary leaves of what was chosen, which stays chosen for when the boundary is lowered. */
export function effectiveTiers({ privacy_boundary: boundary, fallback_floor: floor, auto }: Draft): {
  readonly fallback: PrivacyClass | null;
  readonly auto: Boundary;
} {
  const tier = boundaryTier[boundary];
  return {
    fallback: floor !== null && isWeaker(floor, tier) ? tier : floor,
    auto: isWeakerBoundary(auto.tiers, boundary) ? boundary : auto.tiers,
  };
}

const names: Readonly<Record<keyof Preferences, string>> = {
  privacy_boundary: 'privacy boundary',
  provider_minimum_privacy: 'minimum privacy',
  provider_sort: 'default sort',
  provider_allow_fallbacks: 'fallback',
  provider_max_attempts: 'retries',
  fallback_floor: 'step down',
  auto: 'auto router',
  provider_ignore: 'providers',
  max_price: 'price ceiling',
};

const fields = Object.keys(names) as readonly (keyof Preferences)[];

/** The settings in which two preferences differ, as people call them. */
export const changedSettings = (before: Preferences, after: Preferences): readonly string[] =>
  fields.filter((field) => !isSame(before[field], after[field])).map((field) => names[field]);

/**
 * What to save: what somebody changed since `before`, over what the service has `now`. A setting that only another person
 * changed meanwhile stays as they left it.
 */
export function mergeChanges(before: Preferences, after: Preferences, now: Preferences): Preferences {
  const changed = fields.filter((field) => !isSame(before[field], after[field]));
  return { ...now, ...Object.fromEntries(changed.map((field) => [field, after[field]])) };
}

/** Lists of ids are sets here: their order says nothing. */
const isSame = (left: unknown, right: unknown): boolean =>
  JSON.stringify(left, inOrder) === JSON.stringify(right, inOrder);

function inOrder(_key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.toSorted();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
