import { modelListAnswerSchema, privacyClassSchema } from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { instant } from '../fields.ts';

export const capabilitiesAnswerSchema = z.strictObject({
  image_generation: z.strictObject({ enabled: z.boolean() }),
  speech_synthesis: z.strictObject({ enabled: z.boolean() }),
  connected_apps: z.strictObject({ enabled: z.boolean() }),
  anonymous_wallets: z.strictObject({ enabled: z.boolean() }),
  separate_processes: z.strictObject({
    enabled: z
      .boolean()
      .describe('Whether control and the broker run apart. False: one process has both in its memory, for evaluation.'),
  }),
});
export type CapabilitiesAnswer = z.infer<typeof capabilitiesAnswerSchema>;

/** With fewer than 20 requests, a number would show when single people ask. */
const enoughRequests = z.int().nullable();

const measuredRouteSchema = z.strictObject({
  provider: z.string(),
  privacy_class: privacyClassSchema,
  window_hours: z.literal(24),
  success_rate: z.number().nullable(),
  requests: enoughRequests,
  ttft_ms: z.strictObject({ p50: z.number(), p90: z.number(), p99: z.number() }).nullable(),
  throughput_tps: z.strictObject({ p50: z.number() }).nullable(),
});

/** Answer of `GET /catalog/measurements`: the models and routes with at least 20 requests in 24 hours. */
export const measurementsAnswerSchema = z.strictObject({
  data: z.array(z.strictObject({ model: z.string(), routes: z.array(measuredRouteSchema) })),
});
export type MeasurementsAnswer = z.infer<typeof measurementsAnswerSchema>;

export const uptimeQuerySchema = z.strictObject({
  model: z.string().max(256).meta({ description: 'A model id.', example: 'demo/chat' }),
});

const successRate = z.number().nullable().describe('From 0 to 1.');

/** Answer of `GET /models/uptime`. Null if fewer than 20 requests were measured. */
export const uptimeAnswerSchema = z.strictObject({
  model: z.string(),
  routes: z.array(
    measuredRouteSchema.extend({
      success_rate: successRate,
      series: z.array(
        z.strictObject({
          at: instant,
          success_rate: successRate,
          requests: enoughRequests,
          ttft_p50_ms: z.number().nullable(),
        }),
      ),
    }),
  ),
});
export type UptimeAnswer = z.infer<typeof uptimeAnswerSchema>;

const endsSchema = { requests: enoughRequests, success_rate: z.number().nullable() };

const hoursSchema = z.array(z.strictObject({ at: instant, ...endsSchema }));

/** The share of the minutes of each hour in which a plane was ready. Null: not known. */
const planeHoursSchema = z.array(z.strictObject({ at: instant, ready: z.number().nullable() }));

/** Answer of `GET /status`: when the planes were ready, and how the requests to providers ended in the last 24 hours, together and for each provider. */
export const statusAnswerSchema = z.strictObject({
  window_hours: z.literal(24),
  planes: z.strictObject({ control: planeHoursSchema, broker: planeHoursSchema }),
  /** Of all providers, the oldest hour first. */
  hours: hoursSchema,
  providers: z.array(z.strictObject({ provider: z.string(), ...endsSchema, hours: hoursSchema })),
});
export type StatusAnswer = z.infer<typeof statusAnswerSchema>;

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
        separate_processes: { enabled: true },
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
    query: uptimeQuerySchema,
    // A missing model has its own error type.
    parsesQuery: true,
    answer: uptimeAnswerSchema,
    returns: 'The measurements.',
    errors: ['missing_model', 'model_not_found'],
  },
});
