import type { PrivacyClass } from '@sotto/wire';
import type { z } from 'zod';
import type { catalogFileSchema } from '../catalog-file.ts';
import { canonicalId } from './canonical-id.ts';
import { capabilitiesOf } from './list-capabilities.ts';
import { type ListEntry, readList } from './list-entry.ts';
import { isFree, pricingOf } from './list-pricing.ts';

/** A catalog file as it is written, before defaults are filled in. */
export type CatalogFileInput = z.input<typeof catalogFileSchema>;
type ModelInput = CatalogFileInput['models'][number];

export interface ImportOptions {
  /** The provider whose list this is: every model gets one route, to it. */
  readonly provider: string;
  /** Stands before ids that name no creator. */
  readonly creator: string;
  readonly privacyClass: PrivacyClass;
  /** The date of the list, such as 2026-01-31. */
  readonly asOf: string;
  /** What is taken where the list says nothing. Prices in USD per million tokens. */
  readonly otherwise: {
    readonly contextLength?: number | undefined;
    readonly input?: number | undefined;
    readonly output?: number | undefined;
  };
}

export interface Imported {
  readonly file: CatalogFileInput;
  /** What was not taken over, and why, in the order of the list. */
  readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
}

/**
 * Makes a catalog of an OpenAI-shaped list of models, or of OpenRouter's: prices, limits, capabilities and supported
 * parameters as the list says, by id. Undefined for what is no such list. Pure: one list always makes one catalog.
 */
export function importModels(list: unknown, options: ImportOptions): Imported | undefined {
  const read = readList(list);
  if (read === undefined) return undefined;
  const models = new Map<string, ModelInput>();
  const leftOut: { id: string; reason: string }[] = [];
  const leave = ({ id }: ListEntry, reason: string): void => {
    leftOut.push({ id: plainText(id), reason });
  };
  for (const entry of read.entries) {
    const made = modelOf(entry, options);
    if ('reason' in made) leave(entry, made.reason);
    else if (models.has(made.id)) leave(entry, `another model of the list is ${made.id} too`);
    else models.set(made.id, made);
  }
  if (read.nameless > 0) leftOut.push({ id: `${read.nameless} entries`, reason: 'they have no `id`' });
  const byId = [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { file: { as_of: options.asOf, models: byId }, leftOut };
}

function modelOf(entry: ListEntry, options: ImportOptions): ModelInput | { readonly reason: string } {
  const { otherwise } = options;
  const canonical = canonicalId(entry.id, options.creator);
  if ('reason' in canonical) return canonical;
  const kind = kindOf(entry);
  if (typeof kind === 'object') return kind;
  const read = pricingOf(entry);
  if (!read.ok) return { reason: read.reason };
  const listed = read.value ?? {};
  if (kind === 'text' && listed.output === 0) return { reason: isFree };
  const input = listed.input ?? otherwise.input;
  const output = listed.output ?? otherwise.output;
  if (input === undefined || (kind === 'text' && output === undefined)) {
    return { reason: 'the list has no price for it: give one with --input-price and --output-price' };
  }
  const contextLength = contextOf(entry) ?? otherwise.contextLength;
  if (kind === 'text' && contextLength === undefined) {
    return { reason: 'the list has no context length for it: give one with --context-length' };
  }
  const { capabilities, supportedParameters } = capabilitiesOf(entry);
  const pricing = kind === 'text' ? { ...listed, input, output } : { input };
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
        pricing,
        ...(kind === 'text' && Object.keys(capabilities).length > 0 ? { capabilities } : {}),
        ...(kind === 'text' && supportedParameters !== undefined ? { supported_parameters: supportedParameters } : {}),
      },
    ],
  };
}

/** Names by which lists that say no more tell their models apart. */
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
  plainText(entry.name ?? entry.display_name ?? '').slice(0, 200) || entry.id;

/** Text from elsewhere on one line, without what would steer a terminal. */
const plainText = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
