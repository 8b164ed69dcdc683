import type { Adapter } from '../adapter.ts';
import { openAiAdapter } from '../openai/openai-adapter.ts';

/**
 * The adapter of Azure OpenAI: the shape of OpenAI with the key in another header. `base_url` is that of the v1 API,
 * `https://RESOURCE.openai.azure.com/openai/v1`; the upstream model is the name of a deployment.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
export const azureAdapter: Adapter = {
  ...openAiAdapter,
  headers: (apiKey) => (apiKey === undefined ? [] : ['api-key', apiKey]),
};
