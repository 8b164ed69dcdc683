import type { Adapter } from '../adapter.ts';
import { azureParameters } from '../openai/caller-parameters.ts';
import { openAiAdapter } from '../openai/openai-adapter.ts';

/**
 * The adapter of Azure OpenAI: the shape of OpenAI with the key in another header. `base_url` is that of the v1 API,
 * `https://RESOURCE.openai.azure.com/openai/v1`; the upstream model is the name of a deployment.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
export const azureAdapter: Adapter = {
  ...openAiAdapter,
  callerParameters: azureParameters,
  // Azure refuses the sampling settings that only other servers of this shape take.
  chatRequest: (request, target) =>
    openAiAdapter.chatRequest({ ...request, top_k: null, min_p: null, repetition_penalty: null }, target),
  headers: (apiKey) => (apiKey === undefined ? [] : ['api-key', apiKey]),
};
