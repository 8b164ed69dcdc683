import { grantListQuerySchema } from '@sotto/wire';
import { anywhere, ofBodies, ofSessions } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';

const tag = 'Connected apps';
const appId = { id: 'The id of an enabled app of this account.' };
const uid = { uid: 'As the address of the consent page has it.' };
/** `not_found`: also where Connected Apps is off. */
const ofConnect = [...anywhere, ...ofSessions, 'not_found'] as const;
const app = {
  name: 'Notebook',
  homepage: 'https://notebook.example',
  type: 'confidential',
  redirect_uris: ['https://notebook.example/callback'],
  post_logout_redirect_uris: ['https://notebook.example/'],
  scopes: ['openid', 'inference'],
};

type Described = Omit<RouteDescription, 'tag' | 'credentials'>;
const bySession = (routes: readonly Described[]): RouteDescription[] =>
  routes.map((route) => ({ ...route, tag, credentials: ['session'] }));

export const connectRoutes: readonly RouteDescription[] = bySession([
  {
    method: 'get',
    path: '/v1/connect/grants',
    operationId: 'listGrants',
    summary: 'What apps were allowed',
    description:
      'Active first, then past; the newest first. With a workspace: all that its members have allowed there.',
    query: {
      schema: grantListQuerySchema,
      notes: { workspace_id: 'Of this workspace, whoever allowed it. Without: what this account has allowed.' },
    },
    answers: [{ status: 200, description: 'The grants.', content: [json('GrantList')] }],
    errors: [...ofConnect, 'invalid_request'],
  },
  {
    method: 'delete',
    path: '/v1/connect/grants/{id}',
    operationId: 'disconnectGrant',
    summary: 'Disconnect an app',
    description: 'For whoever allowed it, and for admins of its workspace. Its tokens and unused tickets are dead.',
    pathParameters: { id: 'The id of a grant.' },
    answers: [{ status: 204, description: 'It has ended.' }],
    errors: ofConnect,
  },
  {
    method: 'get',
    path: '/v1/connect/apps',
    operationId: 'listApps',
    summary: 'Own apps',
    answers: [{ status: 200, description: 'The enabled apps of this account.', content: [json('AppList')] }],
    errors: ofConnect,
  },
  {
    method: 'post',
    path: '/v1/connect/apps',
    operationId: 'createApp',
    summary: 'Register an app',
    description: 'A confidential app has its `client_secret` in this answer alone; a public one has none.',
    body: { content: [json('CreateApp', app)] },
    answers: [{ status: 201, description: 'The app.', content: [json('App')] }],
    errors: [...ofConnect, ...ofBodies, 'conflict'],
  },
  {
    method: 'patch',
    path: '/v1/connect/apps/{id}',
    operationId: 'updateApp',
    summary: 'Change an app',
    description: 'Other redirect URIs end its grants.',
    pathParameters: appId,
    body: { content: [json('UpdateApp', { name: 'Notebook 2' })] },
    answers: [{ status: 200, description: 'The app, as it is now.', content: [json('App')] }],
    errors: [...ofConnect, ...ofBodies],
  },
  {
    method: 'post',
    path: '/v1/connect/apps/{id}/rotate-secret',
    operationId: 'rotateAppSecret',
    summary: 'Get another secret',
    description: 'The old one is dead, and the grants of the app end. Send `content-type: application/json`.',
    pathParameters: appId,
    body: { required: false, content: [json({ type: 'object', description: 'Empty.' }, {})] },
    answers: [{ status: 200, description: 'The app, with its new secret.', content: [json('App')] }],
    errors: [...ofConnect, ...ofBodies, 'conflict'],
  },
  {
    method: 'delete',
    path: '/v1/connect/apps/{id}',
    operationId: 'disableApp',
    summary: 'Disable an app',
    description: 'For good, and its grants end.',
    pathParameters: appId,
    answers: [{ status: 204, description: 'It is disabled.' }],
    errors: ofConnect,
  },
  {
    method: 'get',
    path: '/v1/connect/interactions/{uid}',
    operationId: 'readInteraction',
    summary: 'What an app asks for',
    description: 'In the browser where the request began, for the account that opens it first.',
    pathParameters: uid,
    answers: [{ status: 200, description: 'The request.', content: [json('Interaction')] }],
    errors: [...ofConnect, 'conflict', 'invalid_request'],
  },
  {
    method: 'post',
    path: '/v1/connect/interactions/{uid}',
    operationId: 'answerInteraction',
    summary: 'Allow or deny',
    description: 'The browser goes on to `redirect_to`, and from there back to the app.',
    pathParameters: uid,
    body: { content: [json('AnswerInteraction', { decision: 'allow', credit_limit_usd: 5 })] },
    answers: [{ status: 200, description: 'Where to go on.', content: [json('InteractionDone')] }],
    errors: [...ofConnect, ...ofBodies, 'conflict'],
  },
]);
