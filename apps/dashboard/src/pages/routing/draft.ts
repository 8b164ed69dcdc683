import type { Boundary, MaxPrice, Preferences, PrivacyClass } from '@sotto/wire';
import { readUsd, typedUsd } from '../../format/format.ts';
import { boundaryTier, isWeaker, isWeakerBoundary } from './boundaries.ts';

/** Preferences while the user edits them. Prices are the typed text. */
export interface Draft extends Omit<Preferences, 'max_price'> {
  readonly maxInput: string;
  readonly maxOutput: string;
}

export function draftOf({ max_price: price, ...rest }: Preferences): Draft {
  return { ...rest, maxInput: typedUsd(price?.input), maxOutput: typedUsd(price?.output) };
}

/** The mistakes of a draft: a sentence by field. */
type DraftProblems = { readonly [field in 'maxInput' | 'maxOutput' | 'models']?: string };

/** Reads a draft as preferences. Fields with a mistake count as empty, and are named in `problems`. */
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

const priceProblem = 'Enter $ per million tokens from 0 to 1,000,000, such as 2.5.';

/** The chosen tiers, raised to the boundary where they are below it. The choice itself stays, for a lower boundary. */
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

const changedFields = (before: Preferences, after: Preferences): readonly (keyof Preferences)[] =>
  fields.filter((field) => !isSame(before[field], after[field]));

/** The names of the settings in which two preferences differ. */
export const changedSettings = (before: Preferences, after: Preferences): readonly string[] =>
  changedFields(before, after).map((field) => names[field]);

/**
 * The preferences to save: the user's changes since `before`, applied to what the service has `now`. So a setting that
 * only another user changed meanwhile keeps that change.
 */
export function mergeChanges(before: Preferences, after: Preferences, now: Preferences): Preferences {
  const changed = changedFields(before, after);
  return { ...now, ...Object.fromEntries(changed.map((field) => [field, after[field]])) };
}

/** Compares lists of ids as sets. */
const isSame = (left: unknown, right: unknown): boolean =>
  JSON.stringify(left, inOrder) === JSON.stringify(right, inOrder);

function inOrder(_key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.toSorted();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Props of every card of settings. */
export interface SettingsProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly disabled: boolean;
  readonly problems: DraftProblems;
}
