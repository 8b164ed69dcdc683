/** A SCIM client as an identity provider has one. */

import { parseJson } from '@sotto/wire';

export const scimToken = 'a SCIM token of forty characters, no less'.replaceAll(' ', '-');

export interface ScimAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an answer is what it tests.
  readonly json: any;
}

export const urns = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
};

/** Returns a client of the SCIM service at an origin. */
export function scimClient(origin: string, token = scimToken, contentType = 'application/scim+json') {
  const send = async (method: string, path: string, body?: unknown): Promise<ScimAnswer> => {
    const response = await fetch(`${origin}/v1/scim/v2${path}`, {
      method,
      headers: {
        ...{ authorization: `Bearer ${token}`, accept: 'application/scim+json' },
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, json: parseJson(await response.text()) };
  };
  return {
    send,
    get: (path: string) => send('GET', path),
    post: (path: string, body: unknown) => send('POST', path, body),
    put: (path: string, body: unknown) => send('PUT', path, body),
    delete: (path: string) => send('DELETE', path),
    patch: (path: string, ...Operations: readonly object[]) =>
      send('PATCH', path, { schemas: [urns.patch], Operations }),
  };
}
