import { appContracts } from './apps.ts';
import { billingContracts } from './billing.ts';
import { catalogContracts } from './catalog.ts';
import { grantContracts } from './grants.ts';
import { interactionContracts } from './interactions.ts';
import { invitationContracts } from './invitations.ts';
import { keyContracts } from './keys.ts';
import { routingContracts } from './routing.ts';
import { sessionContracts } from './sessions.ts';
import { signInContracts } from './sign-in.ts';
import { ticketContracts } from './tickets.ts';
import { usageContracts } from './usage.ts';
import { workspaceContracts } from './workspaces.ts';

export {
  appContracts,
  billingContracts,
  catalogContracts,
  grantContracts,
  interactionContracts,
  invitationContracts,
  keyContracts,
  routingContracts,
  sessionContracts,
  signInContracts,
  ticketContracts,
  usageContracts,
  workspaceContracts,
};

/** The contracts of the control origin, by route. */
export type ControlContracts = typeof appContracts &
  typeof billingContracts &
  typeof catalogContracts &
  typeof grantContracts &
  typeof interactionContracts &
  typeof invitationContracts &
  typeof keyContracts &
  typeof routingContracts &
  typeof sessionContracts &
  typeof signInContracts &
  typeof ticketContracts &
  typeof usageContracts &
  typeof workspaceContracts;
export { controlOrigin } from './origin.ts';
