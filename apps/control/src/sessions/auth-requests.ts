import type { Contract } from '@sotto/contract';
import { sessionContracts, signInContracts } from '@sotto/contract/control';
import { assertStorable, parseRequest } from '@sotto/wire';

/** The routes under `/v1/auth`, by method, with a pattern of their path. */
const routes = Object.entries<Contract>({ ...sessionContracts, ...signInContracts }).map(([key, contract]) => {
  const [method = '', path = ''] = key.split(' ');
  return { method, pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`), contract };
});

/** Returns the contract of a path under `/v1/auth`. Undefined: there is no such route. */
export const authContract = (method: string, path: string): Contract | undefined =>
  routes.find((route) => route.method === (method === 'HEAD' ? 'GET' : method) && route.pattern.test(path))?.contract;

/**
 * Reads a body by its contract. Only fields of the contract are left, so better-auth never sees others, which it would store without
 * a bound. Throws `invalid_request` for the first field at fault.
 */
export function readAuthBody({ body: schema }: Contract, sent: object): object {
  assertStorable(sent, 'The body');
  return schema === undefined || typeof schema === 'string' ? {} : (parseRequest(schema, sent) as object);
}
