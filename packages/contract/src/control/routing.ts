import {
  modelIdField,
  modelsField,
  preferencesSchema,
  pricingAnswerSchema,
  privacyClassSchema,
  providerPolicySchema,
} from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { givenId, idFilter } from '../fields.ts';

/** Preferences as clients send them. Absent fields are filled in. */
export const preferencesRequestSchema = preferencesSchema.partial();

/** Query of `/routing/preferences`. The default is the default workspace. */
export const workspaceQuerySchema = z.strictObject({
  workspace_id: idFilter.describe('A workspace of the account. The default is its default workspace.'),
});

const tokens = z.int().min(0).max(100_000_000);

/** Body of `POST /routing/preview`: a request without its content, and optionally a draft of preferences. */
export const routingPreviewRequestSchema = z.strictObject({
  model: modelIdField,
  models: modelsField.nullish(),
  provider: providerPolicySchema.nullish(),
  prompt_tokens: tokens.nullish(),
  max_tokens: tokens.min(1).nullish(),
  tools: z.boolean().nullish(),
  vision: z.boolean().nullish(),
  structured_output: z.boolean().nullish(),
  workspace_id: givenId.nullish(),
  /** A draft. The router checks whether its fields agree. */
  preferences: preferencesRequestSchema.nullish(),
});
export type RoutingPreview = z.infer<typeof routingPreviewRequestSchema>;

export const routingPreviewAnswerSchema = z.strictObject({
  /** The model of the first route, or the requested model if there is no route. */
  model: z.string(),
  routing: z.enum(['auto', 'exact']),
  /** Why `/auto` chose the model and excluded others. Null if the request named the model. */
  choice: z.string().nullable(),
  /** In the order of the attempts. */
  plan: z.array(
    z.strictObject({
      model: z.string(),
      provider: z.string(),
      privacy_class: privacyClassSchema,
      pricing: pricingAnswerSchema,
      penalized: z.boolean(),
      /** Whether the Default sort gives this route an equal share of first attempts. The plan shows the best order. */
      shares_traffic: z.boolean(),
    }),
  ),
  /** Every other route of the requested models, with the rule that excluded it. */
  excluded: z.array(z.strictObject({ model: z.string(), provider: z.string(), rule: z.string(), message: z.string() })),
  /** Hold that is placed before the first attempt. Null if the request would be refused. */
  hold_usd: z.number().nullable(),
  /** Error that the request would get. Null if it would be sent. */
  refusal: z.strictObject({ type: z.string(), message: z.string() }).nullable(),
});
export type RoutingPreviewAnswer = z.infer<typeof routingPreviewAnswerSchema>;

export const eligibleModelsRequestSchema = z.strictObject({ preferences: preferencesRequestSchema });

/** Models and the providers that may serve them, best first. */
export const eligibleModelsAnswerSchema = z.strictObject({
  data: z.array(z.strictObject({ id: z.string(), providers: z.array(z.string()) })),
});
export type EligibleModelsAnswer = z.infer<typeof eligibleModelsAnswerSchema>;

/** The preferences of a workspace, and the models that they allow. */
export const effectiveRoutingAnswerSchema = eligibleModelsAnswerSchema.extend({ preferences: preferencesSchema });

/** Routing preferences of workspaces, and their effect. */
export const routingContracts = contracts({
  'GET /v1/routing/preferences': {
    operationId: 'getPreferences',
    summary: 'Get the preferences of a workspace',
    credentials: ['session'],
    query: workspaceQuerySchema,
    answer: preferencesSchema,
    returns: 'The preferences.',
    errors: ['not_found'],
  },
  'PUT /v1/routing/preferences': {
    operationId: 'putPreferences',
    summary: 'Replace the preferences of a workspace',
    description:
      'An absent `provider_` field is reset to its value in a new workspace. Other absent fields keep their values.',
    credentials: ['session'],
    query: workspaceQuerySchema,
    body: preferencesRequestSchema,
    parsesBody: true,
    answer: preferencesSchema,
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
    answer: effectiveRoutingAnswerSchema,
    returns: "The preferences of the key's workspace, and the models and providers that they allow.",
  },
  'POST /v1/routing/preview': {
    operationId: 'previewRouting',
    summary: 'Preview the plan of a request',
    description:
      'Send a request without its content, and optionally a draft of preferences. If the request would be refused, the answer is 200 with `refusal`.',
    credentials: ['session'],
    body: routingPreviewRequestSchema,
    answer: routingPreviewAnswerSchema,
    returns: 'The plan, with the reason for each route.',
    examples: { body: { model: 'demo/chat', prompt_tokens: 1200, max_tokens: 400 } },
    errors: ['invalid_provider_policy', 'not_found'],
  },
  'POST /v1/routing/eligible-models': {
    operationId: 'listEligibleModels',
    summary: 'Preview the models of draft preferences',
    credentials: [],
    openToPages: true,
    body: eligibleModelsRequestSchema,
    answer: eligibleModelsAnswerSchema,
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
