import { modelListAnswerSchema } from '@sotto/wire';
import { contracts } from '../contract.ts';
import { ofCompatibility } from '../errors.ts';

/** The list of models, for clients of compatibility mode. */
export const modelContracts = contracts({
  'GET /v1/models': {
    operationId: 'listModels',
    summary: 'List models in compatibility mode',
    description: 'For OpenAI clients, which list models where they send content. Without a key, the answer is 404.',
    credentials: ['inferenceKey', 'managementKey'],
    returns: 'The same list as at the control origin.',
    answer: modelListAnswerSchema,
    errors: ['not_found', ...ofCompatibility, 'internal_error', 'service_unavailable'],
  },
});
