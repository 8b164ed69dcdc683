import type { ErrorType } from '@sotto/wire';
import type { Contract, Contracts, PathParameter } from './contract.ts';
import { anywhere, ofBodies, ofKeys, ofOperators, ofOwners, ofSessions } from './errors.ts';
import { describeLimits } from './limits.ts';
import { type Maximum, maxima } from './maxima.ts';
import { type AnswerDescription, type Credential, json, type Note, type RouteDescription } from './route.ts';

export const describeRoutes = (tag: string, routes: Contracts): RouteDescription[] =>
  Object.entries(routes).map(([key, contract]) =>
    describeRoute(tag, key, { ...contract, errors: errorsOf(key, contract) }),
  );

/** The same for routes whose contracts state all their errors: those of the broker, of better-auth and of payment services. */
export const describeAsStated = (tag: string, routes: Contracts): RouteDescription[] =>
  Object.entries(routes).map(([key, contract]) => describeRoute(tag, key, contract));

function describeRoute(tag: string, key: string, contract: Contract): RouteDescription {
  const [method = '', path = ''] = key.split(' ');
  const { operationId, summary, description, credentials, isOpenToAll, params, query, headers } = contract;
  return {
    method: method.toLowerCase() as RouteDescription['method'],
    ...{ path, operationId, tag, summary, credentials, isOpenToAll, query, headers },
    description: [description, ...boundsOf(contract)].filter((each) => each !== undefined).join('\n\n') || undefined,
    pathParameters:
      params && Object.fromEntries(Object.entries(params).map(([name, param]) => [name, pathNote(param)])),
    body: bodyOf(contract),
    answers: [...ownAnswer(contract), ...(contract.otherAnswers ?? [])],
    errors: contract.errors ?? [],
    errorContent: contract.errorContent,
    isOpenToPages: isOpenToPages(contract),
  };
}

/** Describes the rate limits of a route, and the maximum of what it creates. */
function boundsOf({ limit, limits = [], maximum }: Contract): string[] {
  const counted = [...(limit === undefined || limit === 'uncounted' ? [] : [limit]), ...limits];
  const most: Maximum | undefined = maximum && maxima[maximum];
  return [
    ...(limit === 'uncounted' ? ['No rate limit.'] : []),
    ...(counted.length === 0 ? [] : [describeLimits(counted)]),
    ...(most === undefined
      ? []
      : [
          [`At most \`${most.setting}\` (${most.usual} by default) ${most.what}.`, most.note]
            .filter((each) => each !== undefined)
            .join(' '),
        ]),
  ];
}

const pathNote = ({ note, id, maxLength }: PathParameter): Note => ({
  ...(typeof note === 'string' ? { description: note } : note),
  ...(id === undefined ? { minLength: 1, maxLength } : { format: 'uuid' }),
});

function bodyOf({ body, otherBodies = [], examples = {} }: Contract): RouteDescription['body'] {
  if (typeof body === 'string') {
    return { required: body !== 'optional', content: [json({ type: 'object', description: 'Empty.' }, {})] };
  }
  const content = [...(body === undefined ? [] : [json(body, examples.body)]), ...otherBodies];
  return content.length === 0 ? undefined : { content };
}

function ownAnswer(contract: Contract): AnswerDescription[] {
  const { answer, returns, status = 200, answerHeaders, otherContent = [], examples = {} } = contract;
  if (returns === undefined) return [];
  const content = [...(answer === undefined ? [] : [json(answer, examples.answer)]), ...otherContent];
  return [
    { status, description: returns, content: content.length === 0 ? undefined : content, headers: answerHeaders },
  ];
}

/** Pages of any origin may call public routes and routes with keys. They may not call routes with sessions, because browsers send cookies automatically, nor those of the identity provider. */
const isOpenToPages = ({ credentials, cache, openToPages }: Contract): boolean =>
  openToPages === true ||
  cache === 'public' ||
  (credentials.length > 0 && !credentials.some((each) => isCookie(each) || each === 'scimToken'));

/** Whether a browser sends the credential by itself. */
const isCookie = (credential: Credential): boolean => credential === 'session' || credential === 'operator';

/** Returns the errors of the credentials, parameters and body of a route, and its own. */
function errorsOf(
  key: string,
  { credentials, params = {}, query, parsesQuery, body, errors = [] }: Contract,
): ErrorType[] {
  const takesSession = credentials.some(isCookie);
  const takesKeys = credentials.some((credential) => !isCookie(credential));
  const all: ErrorType[] = [
    ...anywhere,
    ...(body === undefined || typeof body === 'string' ? [] : ofBodies),
    ...(query === undefined || parsesQuery ? [] : (['invalid_request'] as const)),
    ...(takesSession && takesKeys ? ofOwners : takesSession ? ofSessions : takesKeys ? ofKeys : []),
    ...(Object.values(params).some(({ id }) => id !== undefined) ? (['not_found'] as const) : []),
    ...(credentials.includes('operator') ? ofOperators : []),
    ...(credentials.includes('operator') && !key.startsWith('GET ') ? (['session_not_fresh'] as const) : []),
    ...errors,
  ];
  return [...new Set(all)];
}
