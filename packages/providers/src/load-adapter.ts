import type { AdapterName } from '@sotto/router';
import type { Adapter } from './adapter.ts';

/** Loaded when a registry names them, and not before: what is not used is not in the broker's memory either. */
const loaders: Partial<Record<AdapterName, () => Promise<Adapter>>> = {
  openai: async () => (await import('./openai/openai-adapter.ts')).openAiAdapter,
};

/** The adapter of a name; undefined where there is none. */
export const loadAdapter = async (name: AdapterName): Promise<Adapter | undefined> => loaders[name]?.();
