import type { Contract } from '@sotto/contract';
import { signInContracts } from '@sotto/contract/control/sign-in';
import { assertStorable, parseRequest } from '@sotto/wire';

/** The routes under `/v1/auth`, with their paths as the server reads them. */
export const authContracts = Object.entries<Contract>(signInContracts).map(([key, contract]) => {
  const [method = '', path = ''] = key.split(' ');
  return { method, path: path.replace(/\{(\w+)\}/g, ':$1'), contract };
});

/**
 * Reads a body by its contract. Only fields of the contract are left, so better-auth never sees others, which it would store without
 * a bound. Throws `invalid_request` for the first field at fault.
 */
export function readAuthBody({ body: schema }: Contract, sent: object): object {
  assertStorable(sent, 'The body');
  return schema === undefined || typeof schema === 'string' ? {} : (parseRequest(schema, sent) as object);
}
