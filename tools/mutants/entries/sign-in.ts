import { type Mutant, mutantsAt } from '../mutant.ts';

const everyRoute = 'test/people/accounts/every-route.test.ts';
const sessions = 'apps/control/src/sessions/sessions.integration.test.ts';

/** What control itself enforces before better-auth, and what it copies of each answer. */
export const signInMutants: readonly Mutant[] = [
  ...mutantsAt({ folder: 'sign-in', file: 'apps/control/src/sign-in/serve-auth.ts', tests: [everyRoute] }, [
    ['another site', 'if (!isFromOurPages(request, options.allowedOrigins)) throw foreignOrigin();', ''],
    ['the address to return to', 'assertOwnAddress({ param, address }, options);', 'void address;'],
  ]),
  ...mutantsAt({ folder: 'sign-in', file: 'apps/control/src/sign-in/auth-exchange.ts', tests: [everyRoute] }, [
    ['the query', 'takesQuery ? request.url.split(/\\?(.*)/s) : []', 'request.url.split(/\\?(.*)/s)'],
    ['every cookie', "reply.header('set-cookie', cookies)", "reply.header('set-cookie', cookies[0])"],
    ['the fields of the contract', 'JSON.stringify(body)', '(request.body as Buffer)'],
  ]),
  ...mutantsAt({ folder: 'sign-in', file: 'apps/control/src/sessions/revocation.ts', tests: [sessions] }, [
    [
      'a session of another person',
      'and(eq(authSession.userId, userId), inArray(authSession.token, tokens))',
      'inArray(authSession.token, tokens)',
    ],
    [
      'the own session',
      'and(eq(authSession.userId, userId), ne(authSession.id, sessionId))',
      'eq(authSession.userId, userId)',
    ],
  ]),
];
