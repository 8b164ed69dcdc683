import { healthAnswerSchema, readinessAnswerSchema } from '@sotto/wire';
import { anywhere } from './errors.ts';
import { json, type RouteDescription } from './route.ts';

const tag = 'Service';
/** A server that is shutting down says so on every route. */
const shutting = ['internal_error', 'service_unavailable'] as const;

/** What both origins answer about themselves. */
export const serviceRoutes: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/healthz',
    operationId: 'getHealth',
    tag,
    summary: 'Whether the process lives',
    credentials: [],
    answers: [{ status: 200, description: 'It does.', content: [json(healthAnswerSchema, { status: 'ok' })] }],
    errors: [...shutting],
  },
  {
    method: 'get',
    path: '/readyz',
    operationId: 'getReadiness',
    tag,
    summary: 'Whether it can serve',
    credentials: [],
    answers: [
      { status: 200, description: 'It can.', content: [json(readinessAnswerSchema, { status: 'ready' })] },
      { status: 503, description: 'Not now.', content: [json(readinessAnswerSchema, { status: 'not_ready' })] },
    ],
    errors: [...shutting],
  },
  {
    method: 'get',
    path: '/v1/openapi.json',
    operationId: 'getOpenApi',
    tag,
    summary: 'This description',
    credentials: [],
    answers: [
      {
        status: 200,
        description: 'OpenAPI 3.1.',
        content: [
          json({
            type: 'object',
            required: ['openapi', 'info', 'paths'],
            properties: { openapi: { type: 'string' }, info: { type: 'object' }, paths: { type: 'object' } },
          }),
        ],
      },
    ],
    isOpenToPages: true,
    errors: [...shutting],
  },
];

const page = (path: string, operationId: string, summary: string): RouteDescription => ({
  method: 'get',
  path,
  operationId,
  tag,
  summary,
  credentials: [],
  answers: [{ status: 200, description: 'A page.', content: [{ mediaType: 'text/html', schema: { type: 'string' } }] }],
  errors: [...anywhere],
});

/** Control's pages for people. */
export const pageRoutes: readonly RouteDescription[] = [
  page('/', 'getDashboard', 'The dashboard'),
  page('/v1/docs', 'getReference', 'The reference of both origins, to read'),
];
