import type { ErrorType } from '@sotto/wire';
import type { Contract, Contracts } from './contract.ts';
import { anywhere, ofBodies, ofKeys, ofOwners, ofSessions } from './errors.ts';
import { json, type RouteDescription } from './route.ts';

/** The routes of one tag as the document takes them. */
export const describeRoutes = (tag: string, routes: Contracts): RouteDescription[] =>
  Object.entries(routes).map(([key, contract]) => describeRoute(tag, key, { ...contract, errors: errorsOf(contract) }));

/** The same for routes that `serve` does not serve: they have no errors but those that their contracts state. */
export const describeAsStated = (tag: string, routes: Contracts): RouteDescription[] =>
  Object.entries(routes).map(([key, contract]) => describeRoute(tag, key, contract));

function describeRoute(tag: string, key: string, contract: Contract): RouteDescription {
  const [method = '', path = ''] = key.split(' ');
  const { operationId, summary, description, credentials, params, query, body, examples = {} } = contract;
  const { status, answer, returns, answerHeaders, otherContent = [], otherAnswers = [] } = contract;
  const content = [...(answer === undefined ? [] : [json(answer, examples.answer)]), ...otherContent];
  return {
    method: method.toLowerCase() as RouteDescription['method'],
    path,
    operationId,
    tag,
    summary,
    ...(description === undefined ? {} : { description }),
    credentials,
    ...(params === undefined
      ? {}
      : { pathParameters: Object.fromEntries(Object.entries(params).map(([name, { note }]) => [name, note])) }),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: bodyOf(body, examples.body) }),
    answers: [
      {
        status,
        description: returns,
        ...(content.length === 0 ? {} : { content }),
        ...(answerHeaders === undefined ? {} : { headers: answerHeaders }),
      },
      ...otherAnswers,
    ],
    errors: contract.errors ?? [],
    isOpenToPages: isOpenToPages(contract),
  };
}

const bodyOf = (body: NonNullable<Contract['body']>, example: unknown): NonNullable<RouteDescription['body']> =>
  typeof body === 'string'
    ? {
        ...(body === 'optional' ? { required: false } : {}),
        content: [json({ type: 'object', description: 'Empty.' }, {})],
      }
    : { content: [json(body, example)] };

/** What every page may call: what is public, and what takes keys. A session is sent by the browser, asked or not. */
const isOpenToPages = ({ credentials, cache, openToPages }: Contract): boolean =>
  openToPages === true || cache === 'public' || (credentials.length > 0 && !credentials.includes('session'));

/** What befalls any request with such credentials, parameters and body, and what the route adds. */
function errorsOf({ credentials, params = {}, query, parsesQuery, body, errors = [] }: Contract): ErrorType[] {
  const takesSession = credentials.includes('session');
  const takesKeys = credentials.some((credential) => credential !== 'session');
  const all: ErrorType[] = [
    ...anywhere,
    ...(body === undefined || typeof body === 'string' ? [] : ofBodies),
    ...(query === undefined || parsesQuery ? [] : (['invalid_request'] as const)),
    ...(takesSession && takesKeys ? ofOwners : takesSession ? ofSessions : takesKeys ? ofKeys : []),
    ...(Object.values(params).some(({ id }) => id !== undefined) ? (['not_found'] as const) : []),
    ...errors,
  ];
  return [...new Set(all)];
}
