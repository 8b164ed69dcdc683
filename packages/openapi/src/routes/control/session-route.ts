import { anywhere } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';

const tag = 'Sessions';

/** better-auth reads bodies itself: no limit of types or sizes is said in our words but this. */
export const ofAuth = [
  ...anywhere,
  'invalid_request',
  'forbidden',
  'payload_too_large',
  'unsupported_media_type',
] as const;

type Described = Pick<RouteDescription, 'operationId' | 'summary' | 'answers' | 'errors'> & Partial<RouteDescription>;

/** A route under `/v1/auth`, for whoever is signed in unless it says otherwise. */
export const authPost = (name: string, route: Described): RouteDescription => ({
  method: 'post',
  path: `/v1/auth/${name}`,
  tag,
  credentials: ['session'],
  ...route,
});

export const authGet = (name: string, route: Described): RouteDescription => ({
  ...authPost(name, route),
  method: 'get',
});

/** A page of another origin could send a POST without a body of this type: that is refused unless `origin` is ours. */
export const emptyBody = { content: [json({ type: 'object', description: 'Empty.' }, {})] };

export const done = [{ status: 200, description: 'Done.', content: [json('AuthStatus', { status: true })] }] as const;
