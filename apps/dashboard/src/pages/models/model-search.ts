import { type ModelAnswer, type PrivacyClass, privacyClasses } from '@sotto/wire';
import { textOf } from '../../format/read-search.ts';

export type ModelType = ModelAnswer['model_type'];
export const modelTypes = ['text', 'embedding', 'image', 'tts'] as const satisfies readonly ModelType[];

export const abilities = ['tools', 'vision', 'structured_output', 'reasoning'] as const;
export type Ability = (typeof abilities)[number];

export const modelSorts = ['name', 'input', 'output', 'context', 'speed', 'uptime'] as const;
export type ModelSort = (typeof modelSorts)[number];

/** Filters of the list of models, as its address keeps them. An absent field does not filter. */
export interface ModelSearch {
  /** Words that all occur in the id or the name. */
  readonly q?: string | undefined;
  readonly type?: ModelType | undefined;
  /** The weakest tier that will do. */
  readonly tier?: PrivacyClass | undefined;
  readonly provider?: string | undefined;
  /** The highest price of input; USD per million tokens. */
  readonly price?: number | undefined;
  /** The fewest tokens of context. */
  readonly context?: number | undefined;
  /** A comma list of `abilities`. */
  readonly can?: string | undefined;
  /** Default: by name. */
  readonly sort?: ModelSort | undefined;
  /** A comma list of the ids to compare. */
  readonly compare?: string | undefined;
}

/** Reads an address; ignores what is malformed. */
export function readModelSearch(search: Readonly<Record<string, unknown>>): ModelSearch {
  const can = abilitiesOf(typeof search.can === 'string' ? search.can : undefined);
  return {
    q: textOf(search.q),
    type: oneOf(modelTypes, search.type),
    tier: oneOf(privacyClasses, search.tier),
    provider: textOf(search.provider),
    price: amountOf(search.price),
    context: amountOf(search.context),
    can: can.length === 0 ? undefined : can.join(),
    sort: oneOf(modelSorts, search.sort),
    compare: textOf(search.compare, 1200),
  };
}

/** The abilities in a comma-separated list, in the order of `abilities`. */
export function abilitiesOf(list: string | undefined): readonly Ability[] {
  const named = list?.split(',') ?? [];
  return abilities.filter((ability) => named.includes(ability));
}

export const mostCompared = 4;

/** The ids in a comma list, at most four. */
export const comparedOf = (list: string | undefined): readonly string[] =>
  [...new Set(list?.split(',').filter(Boolean) ?? [])].slice(0, mostCompared);

/** How many filters are set, the text and the order aside. */
export const filtersIn = ({ q, sort, compare, can, ...filters }: ModelSearch): number =>
  Object.values(filters).filter((value) => value !== undefined).length + abilitiesOf(can).length;

const oneOf = <Value extends string>(values: readonly Value[], asked: unknown): Value | undefined =>
  values.find((value) => value === asked);

const amountOf = (asked: unknown): number | undefined =>
  typeof asked === 'number' && Number.isFinite(asked) && asked >= 0 ? asked : undefined;
