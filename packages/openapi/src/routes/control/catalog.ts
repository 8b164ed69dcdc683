import { workspaceQuerySchema } from '@sotto/wire';
import * as z from 'zod';
import { anywhere, ofBodies, ofKeys, ofSessions } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';

const preferences = {
  provider_allow_fallbacks: true,
  provider_max_attempts: 3,
  provider_minimum_privacy: 'private',
  provider_sort: 'default',
  provider_ignore: [],
};
const workspaceQuery = {
  schema: workspaceQuerySchema,
  notes: { workspace_id: 'A workspace of the account; without it, the default one.' },
};

export const catalogRoutes: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/v1/models',
    operationId: 'listModels',
    tag: 'Catalog',
    summary: 'Models, for a key',
    description:
      "Every model and its routes. `auto_provider` and the fields beside it are of the route that Auto would pick now under the preferences of the key's workspace.",
    credentials: ['inferenceKey', 'managementKey', 'accessToken'],
    answers: [{ status: 200, description: 'The models.', content: [json('ModelList')] }],
    errors: [...anywhere, ...ofKeys],
  },
  {
    method: 'get',
    path: '/v1/catalog/models',
    operationId: 'listCatalog',
    tag: 'Catalog',
    summary: 'Models, for everybody',
    description: 'The same list under the preferences that a new workspace has. May be cached.',
    credentials: [],
    answers: [{ status: 200, description: 'The models.', content: [json('ModelList')] }],
    errors: [...anywhere],
  },
  {
    method: 'get',
    path: '/v1/models/uptime',
    operationId: 'getUptime',
    tag: 'Catalog',
    summary: 'How the routes of a model do',
    description: 'Success and speed of the last 24 hours, by route. Null where fewer than 20 requests were measured.',
    credentials: [],
    query: {
      schema: z.strictObject({ model: z.string() }),
      notes: { model: { description: 'A model id.', example: 'demo/chat' } },
    },
    answers: [{ status: 200, description: 'The measurements.', content: [json('Uptime')] }],
    errors: [...anywhere, 'missing_model', 'model_not_found'],
  },
  {
    method: 'get',
    path: '/v1/capabilities',
    operationId: 'getCapabilities',
    tag: 'Catalog',
    summary: 'What this deployment offers',
    credentials: [],
    answers: [
      {
        status: 200,
        description: 'Which gated features are on.',
        content: [
          json('Capabilities', {
            image_generation: { enabled: true },
            speech_synthesis: { enabled: true },
            connected_apps: { enabled: false },
          }),
        ],
      },
    ],
    errors: [...anywhere],
  },
  {
    method: 'get',
    path: '/v1/routing/preferences',
    operationId: 'getPreferences',
    tag: 'Routing',
    summary: 'Preferences of a workspace',
    credentials: ['session'],
    query: workspaceQuery,
    answers: [{ status: 200, description: 'The preferences.', content: [json('Preferences')] }],
    errors: [...anywhere, ...ofSessions, 'invalid_request', 'not_found'],
  },
  {
    method: 'put',
    path: '/v1/routing/preferences',
    operationId: 'putPreferences',
    tag: 'Routing',
    summary: 'Replace preferences of a workspace',
    description:
      'Of the five `provider_` fields, what is absent becomes as in a new workspace; the others are kept where they are absent.',
    credentials: ['session'],
    query: workspaceQuery,
    body: { content: [json('PreferencesRequest', preferences)] },
    answers: [{ status: 200, description: 'The preferences, now in force.', content: [json('Preferences')] }],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'not_found'],
  },
  {
    method: 'get',
    path: '/v1/routing/effective',
    operationId: 'getEffectiveRouting',
    tag: 'Routing',
    summary: 'What the saved preferences allow',
    credentials: ['inferenceKey', 'accessToken'],
    answers: [
      {
        status: 200,
        description: "The preferences of the key's workspace, and the models with providers that they allow.",
        content: [json('EffectiveRouting')],
      },
    ],
    errors: [...anywhere, ...ofKeys],
  },
  {
    method: 'post',
    path: '/v1/routing/preview',
    operationId: 'previewRouting',
    tag: 'Routing',
    summary: 'The plan of a request, and why',
    description:
      'A request without its content, perhaps under a draft of preferences. A request that would be refused is answered 200, too, with the `refusal`.',
    credentials: ['session'],
    body: { content: [json('RoutingPreviewRequest', { model: 'demo/chat', prompt_tokens: 1200, max_tokens: 400 })] },
    answers: [{ status: 200, description: 'The plan.', content: [json('RoutingPreview')] }],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'invalid_provider_policy', 'not_found'],
  },
  {
    method: 'post',
    path: '/v1/routing/eligible-models',
    operationId: 'listEligibleModels',
    tag: 'Routing',
    summary: 'Models that draft preferences would allow',
    credentials: [],
    body: { content: [json('EligibleModelsRequest', { preferences })] },
    answers: [
      { status: 200, description: 'The models, and their providers, best first.', content: [json('EligibleModels')] },
    ],
    errors: [...anywhere, ...ofBodies],
  },
];
