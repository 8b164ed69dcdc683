import { appAnswerSchema, appListAnswerSchema, createAppSchema, updateAppSchema } from '@sotto/wire';
import { contracts } from '../contract.ts';

/** Apps that an account has registered. */
export const appContracts = contracts({
  'GET /v1/connect/apps': {
    operationId: 'listApps',
    summary: 'Own apps',
    credentials: ['session'],
    status: 200,
    answer: appListAnswerSchema,
    returns: 'The enabled apps of this account.',
    errors: ['not_found'],
  },
  'POST /v1/connect/apps': {
    operationId: 'createApp',
    summary: 'Register an app',
    description: 'A confidential app has its `client_secret` in this answer alone; a public one has none.',
    credentials: ['session'],
    body: createAppSchema,
    status: 201,
    answer: appAnswerSchema,
    returns: 'The app.',
    examples: {
      body: {
        name: 'Notebook',
        homepage: 'https://notebook.example',
        type: 'confidential',
        redirect_uris: ['https://notebook.example/callback'],
        post_logout_redirect_uris: ['https://notebook.example/'],
        scopes: ['openid', 'inference'],
      },
    },
    errors: ['not_found', 'conflict'],
  },
  'PATCH /v1/connect/apps/{id}': {
    operationId: 'updateApp',
    summary: 'Change an app',
    description: 'Other redirect URIs end its grants.',
    credentials: ['session'],
    params: { id: { note: 'The id of an enabled app of this account.', id: 'app' } },
    body: updateAppSchema,
    status: 200,
    answer: appAnswerSchema,
    returns: 'The app, as it is now.',
    examples: { body: { name: 'Notebook 2' } },
  },
  'POST /v1/connect/apps/{id}/rotate-secret': {
    operationId: 'rotateAppSecret',
    summary: 'Get another secret',
    description: 'The old one is dead, and the grants of the app end. Send `content-type: application/json`.',
    credentials: ['session'],
    params: { id: { note: 'The id of an enabled app of this account.', id: 'app' } },
    body: 'optional',
    status: 200,
    answer: appAnswerSchema,
    returns: 'The app, with its new secret.',
    errors: ['invalid_request', 'payload_too_large', 'unsupported_media_type', 'conflict'],
  },
  'DELETE /v1/connect/apps/{id}': {
    operationId: 'disableApp',
    summary: 'Disable an app',
    description: 'For good, and its grants end.',
    credentials: ['session'],
    params: { id: { note: 'The id of an enabled app of this account.', id: 'app' } },
    status: 204,
    returns: 'It is disabled.',
  },
});
