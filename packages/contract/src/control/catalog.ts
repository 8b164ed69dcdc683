import {
  capabilitiesAnswerSchema,
  measurementsAnswerSchema,
  modelListAnswerSchema,
  statusAnswerSchema,
  uptimeAnswerSchema,
  uptimeQuerySchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';

/** Models, and the features of the deployment. */
export const catalogContracts = contracts({
  'GET /v1/models': {
    operationId: 'listModels',
    summary: 'List the models of a key',
    description:
      "Every model and its routes. `auto_provider` and the fields beside it describe the route that Auto would choose now under the preferences of the key's workspace. `insecure_http` marks routes without TLS, whose network can read content.",
    credentials: ['inferenceKey', 'managementKey', 'accessToken'],
    answer: modelListAnswerSchema,
    returns: 'The models.',
  },
  'GET /v1/catalog/models': {
    operationId: 'listCatalog',
    summary: 'List models without a key',
    description: 'The same list under the preferences of a new workspace. Caches may keep it.',
    credentials: [],
    cache: 'public',
    answer: modelListAnswerSchema,
    returns: 'The models.',
  },
  'GET /v1/catalog/measurements': {
    operationId: 'listMeasurements',
    summary: 'List the measured health of all routes',
    description: 'Success rate and speed of each route that had at least 20 requests in the last 24 hours, by model.',
    credentials: [],
    cache: 'public',
    answer: measurementsAnswerSchema,
    returns: 'The models that have such routes.',
  },
  'GET /v1/capabilities': {
    operationId: 'getCapabilities',
    summary: 'Get the features of this deployment',
    credentials: [],
    cache: 'public',
    answer: capabilitiesAnswerSchema,
    returns: 'The optional features, and whether the operator enabled them.',
    examples: {
      answer: {
        image_generation: { enabled: true },
        speech_synthesis: { enabled: true },
        connected_apps: { enabled: false },
        anonymous_wallets: { enabled: false },
      },
    },
  },
  'GET /v1/status': {
    operationId: 'getStatus',
    summary: 'Get how planes and providers did in the last day',
    description:
      'The share of each hour in which control and the broker were ready, as control saw it. How the requests that reached providers ended in the last 24 hours, by hour: of all providers together and of each one. Null below 20 requests. Providers that the operator does not name are one, `other`.',
    credentials: [],
    cache: 'public',
    answer: statusAnswerSchema,
    returns: 'The hours and the providers.',
  },
  'GET /v1/models/uptime': {
    operationId: 'getUptime',
    summary: 'Get the measured health of routes',
    description:
      'Requests, success rate and speed of each route of a model over 24 hours, and by hour. Null if fewer than 20 requests were measured.',
    credentials: [],
    cache: 'public',
    query: { schema: uptimeQuerySchema, notes: { model: { description: 'A model id.', example: 'demo/chat' } } },
    // A missing model has its own error type.
    parsesQuery: true,
    answer: uptimeAnswerSchema,
    returns: 'The measurements.',
    errors: ['missing_model', 'model_not_found'],
  },
});
