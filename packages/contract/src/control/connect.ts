import {
  answerInteractionSchema,
  appAnswerSchema,
  appListAnswerSchema,
  createAppSchema,
  grantListAnswerSchema,
  grantListQuerySchema,
  interactionAnswerSchema,
  interactionDoneAnswerSchema,
  listQuerySchema,
  updateAppSchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';
import { pageNotes } from '../route.ts';

const app = { note: 'The id of an enabled app of this account.', id: 'app' } as const;
const uid = { note: 'The id in the address of the consent page.', maxLength: 100 };

/** Apps that an account has registered. */
export const appContracts = contracts({
  'GET /v1/connect/apps': {
    operationId: 'listApps',
    summary: 'List your apps',
    credentials: ['session'],
    query: { schema: listQuerySchema, notes: pageNotes },
    answer: appListAnswerSchema,
    returns: 'A page of the enabled apps of this account, oldest first.',
    errors: ['not_found'],
  },
  'POST /v1/connect/apps': {
    operationId: 'createApp',
    summary: 'Register an app',
    description: 'Only this answer has the `client_secret` of a confidential app. A public app has no secret.',
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
    maximum: 'apps',
  },
  'PATCH /v1/connect/apps/{id}': {
    operationId: 'updateApp',
    summary: 'Change an app',
    description: 'A change of the redirect URIs ends all grants of the app.',
    credentials: ['session'],
    params: { id: app },
    body: updateAppSchema,
    answer: appAnswerSchema,
    returns: 'The updated app.',
    examples: { body: { name: 'Notebook 2' } },
  },
  'POST /v1/connect/apps/{id}/rotate-secret': {
    operationId: 'rotateAppSecret',
    summary: 'Rotate the secret of an app',
    description: 'The old secret stops working and all grants of the app end. Send `content-type: application/json`.',
    credentials: ['session'],
    params: { id: app },
    body: 'optional',
    answer: appAnswerSchema,
    returns: 'The app, with its new secret.',
    errors: ['invalid_request', 'payload_too_large', 'unsupported_media_type', 'conflict'],
  },
  'DELETE /v1/connect/apps/{id}': {
    operationId: 'disableApp',
    summary: 'Disable an app',
    description: 'This cannot be undone. All grants of the app end.',
    credentials: ['session'],
    params: { id: app },
    status: 204,
    returns: 'The app is disabled.',
  },
});

/** Access that users granted to apps. */
export const grantContracts = contracts({
  'GET /v1/connect/grants': {
    operationId: 'listGrants',
    summary: 'List grants',
    description:
      'Active grants first, then ended ones, newest first. With a workspace, lists the grants of all its members.',
    credentials: ['session'],
    query: {
      schema: grantListQuerySchema,
      notes: { workspace_id: 'Lists the grants in this workspace. The default is the grants of this account.' },
    },
    answer: grantListAnswerSchema,
    returns: 'The grants.',
    errors: ['not_found'],
  },
  'DELETE /v1/connect/grants/{id}': {
    operationId: 'disconnectGrant',
    summary: 'Disconnect an app',
    description:
      'For the user who granted access and for admins of the workspace. Tokens and unused tickets of the app stop working.',
    credentials: ['session'],
    params: { id: { note: 'The id of a grant.', id: 'grant' } },
    status: 204,
    returns: 'The grant has ended.',
  },
});

/** The page on which a user allows or denies an app. */
export const interactionContracts = contracts({
  'GET /v1/connect/interactions/{uid}': {
    operationId: 'readInteraction',
    summary: 'Get the request of an app',
    description: 'Works in the browser in which the request began, for the first account that opens it.',
    credentials: ['session'],
    params: { uid },
    answer: interactionAnswerSchema,
    returns: 'The request.',
    errors: ['not_found', 'conflict', 'invalid_request'],
  },
  'POST /v1/connect/interactions/{uid}': {
    operationId: 'answerInteraction',
    summary: 'Allow or deny an app',
    description: 'Redirect the browser to `redirect_to`, which leads back to the app.',
    credentials: ['session'],
    maximum: 'keys',
    params: { uid },
    body: answerInteractionSchema,
    answer: interactionDoneAnswerSchema,
    returns: 'The address to redirect to.',
    examples: { body: { decision: 'allow', credit_limit_usd: 5 } },
    errors: ['not_found', 'conflict'],
  },
});
