import type { AdapterName } from '@sotto/router';
import type { Adapter } from './adapter.ts';

/** Loads an adapter only when a registry names it, so that unused adapters take no memory in the broker. */
const loaders: Readonly<Record<AdapterName, () => Promise<Adapter>>> = {
  openai: async () => (await import('./openai/openai-adapter.ts')).openAiAdapter,
  anthropic: async () => (await import('./anthropic/anthropic-adapter.ts')).anthropicAdapter,
  google: async () => (await import('./google/google-adapter.ts')).googleAdapter,
  bedrock: async () => (await import('./bedrock/bedrock-adapter.ts')).bedrockAdapter,
  azure: async () => (await import('./openai/openai-adapter.ts')).azureAdapter,
  cohere: async () => (await import('./cohere/cohere-adapter.ts')).cohereAdapter,
};

export const loadAdapter = (name: AdapterName): Promise<Adapter> => loaders[name]();
