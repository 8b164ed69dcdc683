import type { PrivacyClass } from '@sotto/wire';
import { writeYaml } from '@sotto/yaml';
import type * as z from 'zod';
import { effortLadder } from '../../parameters/effort.ts';
import { knownParameters } from '../../parameters/parameter-names.ts';
import { type CatalogFileRoute, type catalogFileSchema, modelIdPattern } from '../catalog-file.ts';
import { type ListEntry, readList } from './list-entry.ts';
import { chargesForImages, feeIn, isFree, pricingOf } from './list-pricing.ts';

/** A catalog file before defaults are filled in. */
export type CatalogFileInput = z.input<typeof catalogFileSchema>;
type ModelInput = CatalogFileInput['models'][number];

export interface ImportOptions {
  /** The provider that publishes the list. Every model gets one route, to this provider. */
  readonly provider: string;
  /** The creator to use for ids that do not name one. */
  readonly creator: string;
  readonly privacyClass: PrivacyClass;
  /** The date of the list, such as 2026-01-31. */
  readonly asOf: string;
  /** Facts that the operator gives for every model. They win over the list's. Prices in USD per million tokens. */
  readonly given: {
    readonly contextLength?: number | undefined;
    readonly input?: number | undefined;
    readonly output?: number | undefined;
  };
}

export interface Imported {
  readonly file: CatalogFileInput;
  /** The entries that were not imported, with the reason, in the order of the list. */
  readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
  /** The number of imported models whose prices in the list were replaced by given ones. */
  readonly repriced: number;
}

/**
 * Makes a catalog from a list of models in the format of OpenAI or OpenRouter. Prices, limits, capabilities and
 * parameters come from the list. Models are sorted by id. Undefined if the input is not such a list. Pure: the same
 * list always makes the same catalog.
 */
export function importModels(list: unknown, options: ImportOptions): Imported | undefined {
  const read = readList(list);
  if (read === undefined) return undefined;
  const models = new Map<string, ModelInput>();
  const leftOut: { id: string; reason: string }[] = [];
  let repriced = 0;
  const leave = ({ id }: ListEntry, reason: string): void => {
    leftOut.push({ id: plainText(id), reason });
  };
  for (const entry of read.entries) {
    const made = modelOf(entry, options);
    if ('reason' in made) leave(entry, made.reason);
    else if (models.has(made.id)) leave(entry, `another model of the list is ${made.id} too`);
    else {
      models.set(made.id, made);
      if (entry.pricing != null && isPriced(options.given)) repriced += 1;
    }
  }
  if (read.nameless > 0) leftOut.push({ id: `${read.nameless} entries`, reason: 'they have no `id`' });
  const byId = [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { file: { as_of: options.asOf, models: byId }, leftOut, repriced };
}

const isPriced = ({ input, output }: ImportOptions['given']): boolean => input !== undefined || output !== undefined;

function modelOf(entry: ListEntry, options: ImportOptions): ModelInput | { readonly reason: string } {
  const { given } = options;
  const canonical = canonicalId(entry.id, options.creator);
  if ('reason' in canonical) return canonical;
  const kind = kindOf(entry);
  if (typeof kind === 'object') return kind;
  const priced = pricesOf(entry, kind, given);
  if ('reason' in priced) return priced;
  const contextLength = given.contextLength ?? contextOf(entry);
  if (kind === 'text' && contextLength === undefined) {
    return { reason: 'the list has no context length for it: give one with --context-length' };
  }
  const { capabilities, supportedParameters } = capabilitiesOf(entry);
  return {
    id: canonical.id,
    name: nameOf(entry),
    model_type: kind,
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
    ...(kind === 'text' ? outputOf(entry, contextLength) : {}),
    routes: [
      {
        provider: options.provider,
        upstream_model: entry.id,
        privacy_class: options.privacyClass,
        pricing: priced.pricing,
        ...(kind === 'text' && Object.keys(capabilities).length > 0 ? { capabilities } : {}),
        ...(kind === 'text' && supportedParameters !== undefined ? { supported_parameters: supportedParameters } : {}),
      },
    ],
  };
}

type PricingInput = ModelInput['routes'][number]['pricing'];

/**
 * The prices of a model. Both base prices, if given, replace all prices per token of the list: those for cached tokens and long prompts
 * belong to what was replaced. One alone replaces only itself, so the list must not have prices that depend on it.
 */
function pricesOf(
  entry: ListEntry,
  kind: 'text' | 'embedding',
  given: ImportOptions['given'],
): { readonly pricing: PricingInput } | { readonly reason: string } {
  const isWhole = given.input !== undefined && (kind === 'embedding' || given.output !== undefined);
  const fee = feeIn(entry);
  if (fee !== undefined) return { reason: fee };
  const read = isWhole ? undefined : pricingOf(entry);
  if (read?.ok === false) return { reason: read.reason };
  const listed = read?.value ?? {};
  const input = given.input ?? listed.input;
  const output = given.output ?? listed.output;
  if (kind === 'text' && output === 0 && given.output === undefined) return { reason: isFree };
  if (input === undefined || (kind === 'text' && output === undefined)) {
    return { reason: 'the list has no price for it: give one with --input-price and --output-price' };
  }
  if (kind === 'embedding') return { pricing: { input } };
  if (isPriced(given) && (listed.tiers ?? listed.reasoning ?? listed.cache_write) !== undefined) {
    return { reason: 'its list has more prices than these two: give both --input-price and --output-price' };
  }
  return { pricing: { ...(isPriced(given) ? {} : listed), input, output } };
}

/** Matches names of models that are not text models, for lists that do not state the type. */
const otherKinds =
  /tts|whisper|transcri|dall-e|image|imagine|imagen|video|sora|veo|moderation|realtime|audio|speech|rerank|guard|ocr/;
const chatTypes: ReadonlySet<string> = new Set(['text', 'chat', 'language', 'llm', 'code', 'model', 'base']);

function kindOf(entry: ListEntry): 'text' | 'embedding' | { readonly reason: string } {
  const outputs = entry.architecture?.output_modalities ?? entry.output_modalities;
  if (outputs != null && outputs.length > 0) {
    if (outputs.every((name) => name === 'text')) return 'text';
    if (outputs.every((name) => name === 'embeddings' || name === 'embedding')) return 'embedding';
    const made = outputs.filter((name) => name !== 'text').join(' and ');
    return { reason: `it makes ${made}, which no list prices as a catalog does` };
  }
  const type = (entry.type ?? entry.model_type)?.toLowerCase();
  if (type?.startsWith('embedding')) return 'embedding';
  if (type !== undefined && !chatTypes.has(type)) return { reason: `it is of the type ${JSON.stringify(type)}` };
  const id = entry.id.toLowerCase();
  if (id.includes('embed')) return 'embedding';
  return otherKinds.test(id) ? { reason: 'by its name it is no model for chat or embeddings' } : 'text';
}

function contextOf(entry: ListEntry): number | undefined {
  const { context_length, context_window, max_context_length, max_model_len, top_provider } = entry;
  const told = [context_length, context_window, max_context_length, max_model_len, top_provider?.context_length];
  const known = told.filter((tokens) => tokens != null);
  return known.length === 0 ? undefined : Math.min(...known);
}

function outputOf(entry: ListEntry, contextLength: number | undefined): { max_output_tokens?: number } {
  const { max_completion_tokens, max_output_tokens, max_output_length, top_provider } = entry;
  const told = top_provider?.max_completion_tokens ?? max_completion_tokens ?? max_output_tokens ?? max_output_length;
  if (told == null) return {};
  return { max_output_tokens: Math.min(told, contextLength ?? told) };
}

const nameOf = (entry: ListEntry): string =>
  (plainText(entry.name ?? entry.display_name ?? '') || entry.id).slice(0, 200);

/** Puts foreign text on one line and removes characters that could control a terminal. */
const plainText = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/**
 * The canonical id `creator/model` of an id in a list, in lower case. A bare id gets `creator`. Returns the reason if
 * no valid id results.
 */
function canonicalId(listed: string, creator: string): { readonly id: string } | { readonly reason: string } {
  if (listed.startsWith('~')) return { reason: 'it is an alias of other models' };
  const colon = listed.indexOf(':');
  if (colon !== -1) return { reason: `it is the variant \`${listed.slice(colon)}\` of another model` };
  const bare = listed.replace(/^accounts\/([^/]+)\/models\//, '$1/').replace(/^models\//, '');
  const id = (bare.includes('/') ? bare : `${creator}/${bare}`).toLowerCase();
  return modelIdPattern.test(id) && id.length <= 200 ? { id } : { reason: 'its id is not of the form creator/model' };
}

const onOneLine: ReadonlySet<string> = new Set(['pricing', 'capabilities', 'supported_parameters']);

/** Writes a catalog file with a comment at the top. The same file always makes the same text. */
export const writeCatalog = (file: CatalogFileInput, comment: string): string =>
  writeYaml(file, { comment, onOneLine });

type RouteInput = z.input<typeof catalogFileSchema>['models'][number]['routes'][number];

/** The capabilities in a list's entry. A capability that the entry does not state is not offered. */
function capabilitiesOf(entry: ListEntry): {
  readonly capabilities: NonNullable<RouteInput['capabilities']>;
  readonly supportedParameters: CatalogFileRoute['supported_parameters'];
} {
  const listed = parametersOf(entry);
  const told = (name: string, ...own: string[]): boolean =>
    listed === undefined ? own.some((each) => entry.capabilities?.[each] === true) : listed.includes(name);
  const reasoning = reasoningOf(entry, listed);
  const inputs = entry.architecture?.input_modalities ?? entry.input_modalities ?? [];
  const sees = inputs.includes('image') || entry.capabilities?.vision === true;
  return {
    capabilities: {
      ...(told('tools', 'tools', 'function_calling') ? { tools: true } : {}),
      ...(sees && !chargesForImages(entry) ? { vision: true } : {}),
      ...(told('structured_outputs', 'structured_output') ? { structured_output: true } : {}),
      ...(reasoning === undefined ? {} : { reasoning }),
    },
    supportedParameters: listed,
  };
}

/** Features in the lists that providers write for OpenRouter, and the parameters that they stand for. */
const featureParameters: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools', 'tool_choice'],
  json_mode: ['response_format'],
  structured_outputs: ['structured_outputs', 'response_format'],
  reasoning: ['reasoning'],
};

function parametersOf(entry: ListEntry): string[] | undefined {
  const { supported_parameters: all, supported_sampling_parameters: sampling, supported_features: features } = entry;
  if (all == null && sampling == null) return undefined;
  const names = all ?? [...(sampling ?? []), ...(features ?? []).flatMap((name) => featureParameters[name] ?? [])];
  return [...new Set(names)].filter((name) => knownParameters.has(name)).sort();
}

function reasoningOf(entry: ListEntry, listed: string[] | undefined) {
  const own = entry.capabilities?.reasoning;
  const reasons = listed?.includes('reasoning') || listed?.includes('reasoning_effort') || entry.reasoning != null;
  if (!reasons && (own == null || own === false)) return undefined;
  const { supported_efforts: efforts, mandatory } = entry.reasoning ?? {};
  // A null list means that the model accepts every level.
  const taken = efforts === null ? ['minimal', 'low', 'medium', 'high', 'xhigh'] : (efforts ?? usualEfforts(listed));
  const inOrder = effortLadder.filter((level) => taken.includes(level) && (level !== 'none' || mandatory !== true));
  // Levels are useful only if the route accepts the parameter that selects them.
  const offered = listed === undefined || listed.includes('reasoning') || listed.includes('reasoning_effort');
  return { efforts: offered ? inOrder : [], can_disable: mandatory === false };
}

const usualEfforts = (listed: string[] | undefined): string[] =>
  listed?.includes('reasoning_effort') ? ['low', 'medium', 'high'] : [];
