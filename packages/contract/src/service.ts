import { maxControlBytes } from '@sotto/wire';
import * as z from 'zod';
import { contracts } from './contract.ts';
import { anywhere, ofBodies } from './errors.ts';
import { json } from './route.ts';

/** Answer of `GET /healthz`: the process lives. */
export const healthAnswerSchema = z.strictObject({ status: z.literal('ok') });

/** Answer of `GET /readyz`: whether it can serve. */
export const readinessAnswerSchema = z.strictObject({ status: z.enum(['ready', 'not_ready']) });

/** A server that is shutting down answers so on every route. */
const shutting = ['internal_error', 'service_unavailable'] as const;

/** Whether the process runs and can serve. */
export const healthContracts = contracts({
  'GET /healthz': {
    operationId: 'getHealth',
    summary: 'Check that the process runs',
    credentials: [],
    returns: 'The process runs.',
    answer: healthAnswerSchema,
    examples: { answer: { status: 'ok' } },
    errors: shutting,
  },
  'GET /readyz': {
    operationId: 'getReadiness',
    summary: 'Check that the process can serve requests',
    credentials: [],
    returns: 'It can serve requests.',
    answer: readinessAnswerSchema,
    examples: { answer: { status: 'ready' } },
    openToPages: true,
    otherAnswers: [
      {
        status: 503,
        description: 'It cannot serve requests now.',
        content: [json(readinessAnswerSchema, { status: 'not_ready' })],
      },
    ],
    errors: shutting,
  },
});

export const descriptionContracts = contracts({
  'GET /v1/openapi.json': {
    operationId: 'getOpenApi',
    summary: 'Get this description',
    credentials: [],
    returns: 'The description, as OpenAPI 3.1.',
    otherContent: [
      json({
        type: 'object',
        required: ['openapi', 'info', 'paths'],
        properties: { openapi: { type: 'string' }, info: { type: 'object' }, paths: { type: 'object' } },
      }),
    ],
    errors: shutting,
    openToPages: true,
  },
});

/** Routes of both origins about the service itself. */
export const serviceContracts = { ...healthContracts, ...descriptionContracts };

/** A message of the Model Context Protocol to a server: a request or, without an id, a notification of JSON-RPC 2.0. */
export const mcpMessageSchema = z.strictObject({
  jsonrpc: z.literal('2.0').meta({ description: 'The version of JSON-RPC.' }),
  method: z.string().max(200).meta({ description: 'The name of the request, such as `tools/call`.' }),
  id: z
    .union([z.string().max(200), z.int().min(-1_000_000_000_000).max(1_000_000_000_000)])
    .optional()
    .meta({ description: 'Repeated in the answer. A message without it gets none.' }),
  params: z
    .looseObject({})
    .optional()
    .meta({ description: 'The arguments of the request.', 'x-max-bytes': maxControlBytes }),
});

export const documentationContracts = contracts({
  'POST /v1/docs/mcp': {
    operationId: 'askDocumentation',
    summary: 'Ask the documentation server',
    description:
      'A server of the Model Context Protocol (streamable HTTP, stateless, read only): its tools list, search and read pages of the documentation, and describe errors and routes. A message of a version that it does not speak gets an error of JSON-RPC.',
    credentials: [],
    body: mcpMessageSchema,
    returns: 'The answer, as JSON-RPC.',
    otherContent: [json({ type: 'object', description: 'JSON-RPC 2.0.' })],
    otherAnswers: [{ status: 202, description: 'A message that needs no answer.' }],
    examples: { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    errors: [...anywhere, ...ofBodies],
  },
});

export const pageContracts = contracts({
  'GET /': {
    operationId: 'getDashboard',
    summary: 'Open the dashboard',
    credentials: [],
    returns: 'A page.',
    otherContent: [{ mediaType: 'text/html', schema: { type: 'string' } }],
    errors: anywhere,
  },
  'GET /v1/docs': {
    operationId: 'getReference',
    summary: 'Read the reference of both origins',
    credentials: [],
    status: 302,
    returns: 'A redirect to the reference in the dashboard.',
    answerHeaders: ['location'],
    errors: anywhere,
  },
});
