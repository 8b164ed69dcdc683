import { capabilitiesAnswerSchema, modelListAnswerSchema, uptimeAnswerSchema, uptimeQuerySchema } from '@sotto/wire';
import { contracts } from '../contract.ts';

/** Models, and what this deployment offers. */
export const catalogContracts = contracts({
  'GET /v1/models': {
    operationId: 'listModels',
    summary: 'Models, for a key',
    description:
      "Every model and its routes. `auto_provider` and the fields beside it are of the route that Auto would pick now under the preferences of the key's workspace.",
    credentials: ['inferenceKey', 'managementKey', 'accessToken'],
    status: 200,
    answer: modelListAnswerSchema,
    returns: 'The models.',
  },
  'GET /v1/catalog/models': {
    operationId: 'listCatalog',
    summary: 'Models, for everybody',
    description: 'The same list under the preferences that a new workspace has. May be cached.',
    credentials: [],
    cache: 'public',
    status: 200,
    answer: modelListAnswerSchema,
    returns: 'The models.',
  },
  'GET /v1/capabilities': {
    operationId: 'getCapabilities',
    summary: 'What this deployment offers',
    credentials: [],
    cache: 'public',
    status: 200,
    answer: capabilitiesAnswerSchema,
    returns: 'Which gated features are on.',
    examples: {
      answer: {
        image_generation: { enabled: true },
        speech_synthesis: { enabled: true },
        connected_apps: { enabled: false },
      },
    },
  },
  'GET /v1/models/uptime': {
    operationId: 'getUptime',
    summary: 'How the routes of a model do',
    description: 'Success and speed of the last 24 hours, by route. Null where fewer than 20 requests were measured.',
    credentials: [],
    cache: 'public',
    query: { schema: uptimeQuerySchema, notes: { model: { description: 'A model id.', example: 'demo/chat' } } },
    // A missing model has an error of its own.
    parsesQuery: true,
    status: 200,
    answer: uptimeAnswerSchema,
    returns: 'The measurements.',
    errors: ['missing_model', 'model_not_found'],
  },
});
