import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';

const query = {
  schema: wire.workspaceQuerySchema,
  notes: { workspace_id: 'A workspace of the account. The default is its default workspace.' },
};

/** Routing preferences of workspaces, and their effect. */
export const routingContracts = contracts({
  'GET /v1/routing/preferences': {
    operationId: 'getPreferences',
    summary: 'Get the preferences of a workspace',
    credentials: ['session'],
    query,
    answer: wire.preferencesSchema,
    returns: 'The preferences.',
    errors: ['not_found'],
  },
  'PUT /v1/routing/preferences': {
    operationId: 'putPreferences',
    summary: 'Replace the preferences of a workspace',
    description:
      'An absent `provider_` field is reset to its value in a new workspace. Other absent fields keep their values.',
    credentials: ['session'],
    query,
    body: wire.preferencesRequestSchema,
    parsesBody: true,
    answer: wire.preferencesSchema,
    returns: 'The preferences, now in effect.',
    examples: {
      body: {
        provider_allow_fallbacks: true,
        provider_max_attempts: 3,
        provider_minimum_privacy: 'private',
        provider_sort: 'default',
        provider_ignore: [],
      },
    },
    errors: ['not_found'],
  },
  'GET /v1/routing/effective': {
    operationId: 'getEffectiveRouting',
    summary: 'Get the models that the preferences allow',
    credentials: ['inferenceKey', 'accessToken'],
    answer: wire.effectiveRoutingAnswerSchema,
    returns: "The preferences of the key's workspace, and the models and providers that they allow.",
  },
  'POST /v1/routing/preview': {
    operationId: 'previewRouting',
    summary: 'Preview the plan of a request',
    description:
      'Send a request without its content, and optionally a draft of preferences. If the request would be refused, the answer is 200 with `refusal`.',
    credentials: ['session'],
    body: wire.routingPreviewRequestSchema,
    answer: wire.routingPreviewAnswerSchema,
    returns: 'The plan, with the reason for each route.',
    examples: { body: { model: 'demo/chat', prompt_tokens: 1200, max_tokens: 400 } },
    errors: ['invalid_provider_policy', 'not_found'],
  },
  'POST /v1/routing/eligible-models': {
    operationId: 'listEligibleModels',
    summary: 'Preview the models of draft preferences',
    credentials: [],
    openToPages: true,
    body: wire.eligibleModelsRequestSchema,
    answer: wire.eligibleModelsAnswerSchema,
    returns: 'The models and their providers, best first.',
    examples: {
      body: {
        preferences: {
          provider_allow_fallbacks: true,
          provider_max_attempts: 3,
          provider_minimum_privacy: 'private',
          provider_sort: 'default',
          provider_ignore: [],
        },
      },
    },
  },
});
