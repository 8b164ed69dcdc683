import { headerNames } from '@sotto/wire';
import type { Credential, JsonSchema } from '../route.ts';

/** What can be shown, as `securitySchemes`. */
export const securitySchemes: Readonly<Record<Credential, JsonSchema>> = {
  inferenceKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An inference key, `sotto_inf_…`. Sent to the confidential origin it selects compatibility mode.',
  },
  managementKey: { type: 'http', scheme: 'bearer', description: 'A management key, `sotto_mgt_…`.' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token that a connected app was given, with the scope `inference` (tickets, evidence, models, effective routing) or `usage:read` (usage of its workspace, balance). Where Connected Apps is on.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sotto.session_token',
    description:
      'The cookie of `POST /v1/auth/sign-in/email`. Where the origin is not loopback, its name begins with `__Secure-`.',
  },
  ticket: {
    type: 'apiKey',
    in: 'header',
    name: headerNames.ticket,
    description: 'A ticket of `POST /v1/inference/tickets`: exactly one request, and no `authorization` beside it.',
  },
  attestationTicket: {
    type: 'apiKey',
    in: 'header',
    name: headerNames.ticket,
    description: 'A ticket of `POST /v1/inference/attestation-tickets`.',
  },
};
