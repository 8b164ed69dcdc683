import type { AdapterName } from '@sotto/router';
import type { Adapter } from './adapter.ts';

/** Loaded when a registry names them, and not before: what is not used is not in the broker's memory either. */
const loaders: Readonly<Record<AdapterName, () => Promise<Adapter>>> = {
  openai: async () => (await import('./openai/openai-adapter.ts')).openAiAdapter,
  anthropic: async () => (await import('./anthropic/anthropic-adapter.ts')).anthropicAdapter,
  google: async () => (await import('./google/google-adapter.ts')).googleAdapter,
  bedrock: async () => (await import('./bedrock/bedrock-adapter.ts')).bedrockAdapter,
  azure: async () => (await import('./azure/azure-adapter.ts')).azureAdapter,
  cohere: async () => (await import('./cohere/cohere-adapter.ts')).cohereAdapter,
};

/** The adapter of a name in the registry. */
export const loadAdapter = (name: AdapterName): Promise<Adapter> => loaders[name]();
