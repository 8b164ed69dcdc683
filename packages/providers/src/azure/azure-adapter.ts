import type { Adapter } from '../adapter.ts';
import { azureParameters, openAiAdapter } from '../openai/openai-adapter.ts';

/**
 * The adapter of Azure OpenAI: OpenAI's shape with the key in another header. `base_url` is the address of the v1 API,
 * `https://RESOURCE.openai.azure.com/openai/v1`. The upstream model is the name of a deployment.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
export const azureAdapter: Adapter = {
  ...openAiAdapter,
  callerParameters: azureParameters,
  // Azure refuses sampling parameters that only other servers of OpenAI's shape accept.
  chatRequest: (request, target) =>
    openAiAdapter.chatRequest({ ...request, top_k: null, min_p: null, repetition_penalty: null }, target),
  headers: (apiKey) => (apiKey === undefined ? [] : ['api-key', apiKey]),
};
