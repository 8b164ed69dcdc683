import type { PathOf } from '@sotto/contract';
import type { ConfidentialContracts } from '@sotto/contract/confidential';
import type { ControlContracts } from '@sotto/contract/control';

/** Paths of the control origin. With them the compiler checks the client's requests. */
export type ControlPath<Method extends string> = PathOf<ControlContracts, Method>;

/** The same for the confidential origin. */
export type ConfidentialPath<Method extends string> = PathOf<ConfidentialContracts, Method>;
