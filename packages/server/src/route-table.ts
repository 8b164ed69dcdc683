import type { FastifyInstance } from 'fastify';

/** All methods that routes have, besides OPTIONS. */
export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The methods of each path, for the answers to requests that match no route. */
export interface RouteTable {
  /** Returns the methods that a path has, in the order of `methods`. Empty: there is no such path. */
  methodsOf(path: string): readonly string[];
}

const literal = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');

/** Follows the routes that are added to a server from now on. A route for many paths (`*`), such as one for files, does not count. */
export function followRoutes(app: FastifyInstance): RouteTable {
  const known = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    if (url.includes('*')) return;
    const pattern = new RegExp(`^${url.split(/:\w+/).map(literal).join('[^/]+')}$`);
    const entry = known.get(url) ?? { pattern, methods: new Set<string>() };
    for (const each of [method].flat()) entry.methods.add(each);
    known.set(url, entry);
  });
  return {
    methodsOf(path) {
      const found = [...known.values()].filter(({ pattern }) => pattern.test(path));
      return methods.filter((method) => found.some((entry) => entry.methods.has(method)));
    },
  };
}
