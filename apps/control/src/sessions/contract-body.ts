import type { BodyOf } from '@sotto/contract';
import type { signInContracts } from '@sotto/contract/control/sign-in';

/** Returns the body of a request, which `serveAuth` has parsed by the contract of the route. */
export const contractBody = <Key extends keyof typeof signInContracts>(ctx: {
  readonly body: unknown;
}): BodyOf<(typeof signInContracts)[Key]> => ctx.body as BodyOf<(typeof signInContracts)[Key]>;
