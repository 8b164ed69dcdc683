import {
  effectiveRoutingAnswerSchema,
  eligibleModelsAnswerSchema,
  eligibleModelsRequestSchema,
  preferencesRequestSchema,
  preferencesSchema,
  routingPreviewAnswerSchema,
  routingPreviewRequestSchema,
  workspaceQuerySchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';

/** Preferences of workspaces, and what they lead to. */
export const routingContracts = contracts({
  'GET /v1/routing/preferences': {
    operationId: 'getPreferences',
    summary: 'Preferences of a workspace',
    credentials: ['session'],
    query: {
      schema: workspaceQuerySchema,
      notes: { workspace_id: 'A workspace of the account; without it, the default one.' },
    },
    status: 200,
    answer: preferencesSchema,
    returns: 'The preferences.',
    errors: ['not_found'],
  },
  'PUT /v1/routing/preferences': {
    operationId: 'putPreferences',
    summary: 'Replace preferences of a workspace',
    description:
      'Of the five `provider_` fields, what is absent becomes as in a new workspace; the others are kept where they are absent.',
    credentials: ['session'],
    query: {
      schema: workspaceQuerySchema,
      notes: { workspace_id: 'A workspace of the account; without it, the default one.' },
    },
    body: preferencesRequestSchema,
    parsesBody: true,
    status: 200,
    answer: preferencesSchema,
    returns: 'The preferences, now in force.',
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
    summary: 'What the saved preferences allow',
    credentials: ['inferenceKey', 'accessToken'],
    status: 200,
    answer: effectiveRoutingAnswerSchema,
    returns: "The preferences of the key's workspace, and the models with providers that they allow.",
  },
  'POST /v1/routing/preview': {
    operationId: 'previewRouting',
    summary: 'The plan of a request, and why',
    description:
      'A request without its content, perhaps under a draft of preferences. A request that would be refused is answered 200, too, with the `refusal`.',
    credentials: ['session'],
    body: routingPreviewRequestSchema,
    status: 200,
    answer: routingPreviewAnswerSchema,
    returns: 'The plan.',
    examples: { body: { model: 'demo/chat', prompt_tokens: 1200, max_tokens: 400 } },
    errors: ['invalid_provider_policy', 'not_found'],
  },
  'POST /v1/routing/eligible-models': {
    operationId: 'listEligibleModels',
    summary: 'Models that draft preferences would allow',
    credentials: [],
    openToPages: true,
    body: eligibleModelsRequestSchema,
    status: 200,
    answer: eligibleModelsAnswerSchema,
    returns: 'The models, and their providers, best first.',
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
