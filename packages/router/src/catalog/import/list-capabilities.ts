import type { z } from 'zod';
import { effortLadder } from '../../parameters/effort.ts';
import { knownParameters } from '../../parameters/parameter-names.ts';
import type { CatalogFileRoute, catalogFileSchema } from '../catalog-file.ts';
import type { ListEntry } from './list-entry.ts';
import { chargesForImages } from './list-pricing.ts';

type RouteInput = z.input<typeof catalogFileSchema>['models'][number]['routes'][number];

/** What a list's entry says that a model can do; what it does not say is not offered. */
export function capabilitiesOf(entry: ListEntry): {
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

/** Features of lists that providers write for OpenRouter, and the parameters that they stand for. */
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
  // A null list means that every level is taken.
  const taken = efforts === null ? ['minimal', 'low', 'medium', 'high', 'xhigh'] : (efforts ?? usualEfforts(listed));
  const inOrder = effortLadder.filter((level) => taken.includes(level) && (level !== 'none' || mandatory !== true));
  // Levels are of use only where the parameter that names them is taken.
  const offered = listed === undefined || listed.includes('reasoning') || listed.includes('reasoning_effort');
  return { efforts: offered ? inOrder : [], can_disable: mandatory === false };
}

const usualEfforts = (listed: string[] | undefined): string[] =>
  listed?.includes('reasoning_effort') ? ['low', 'medium', 'high'] : [];
