import { agentMutants } from './entries/agents.ts';
import { channelMutants } from './entries/channel.ts';
import { contractMutants } from './entries/contract.ts';
import { guardMutants } from './entries/guards.ts';
import { moneyMutants } from './entries/money.ts';
import { permissionMutants } from './entries/permissions.ts';
import { policyMutants } from './entries/policy.ts';
import { releaseMutants } from './entries/releases.ts';
import { routerMutants } from './entries/router.ts';
import { signInMutants } from './entries/sign-in.ts';
import { stateMutants } from './entries/state.ts';
import { topologyMutants } from './entries/topologies.ts';
import { wireMutants } from './entries/wire.ts';
import type { Mutant } from './mutant.ts';

export const mutants: readonly Mutant[] = [
  ...wireMutants,
  ...releaseMutants,
  ...contractMutants,
  ...permissionMutants,
  ...moneyMutants,
  ...policyMutants,
  ...signInMutants,
  ...routerMutants,
  ...stateMutants,
  ...topologyMutants,
  ...channelMutants,
  ...guardMutants,
  ...agentMutants,
];
