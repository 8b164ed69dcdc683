import type { Identified } from '@sotto/contract';
import { ServiceError } from '@sotto/wire';

const messages: Readonly<Record<Identified, { readonly message: string; readonly param?: string }>> = {
  account: { message: 'There is no such account.' },
  app: { message: 'This account has no such app.' },
  budget: { message: 'This workspace has no such budget.' },
  grant: { message: 'This account has no such grant.' },
  invitation: { message: 'There is no such invitation: it was used, withdrawn or replaced, or has expired.' },
  key: { message: 'This account has no such key.' },
  member: { message: 'This workspace has no such member.' },
  order: { message: 'This account has no such order.' },
  receipt: { message: 'This account has no such receipt.' },
  scimResource: { message: 'There is no such resource.' },
  settlement: { message: 'There is no such rejected settlement. It may be resolved.' },
  workspace: { message: 'This account is in no such workspace.', param: 'workspace_id' },
};

/** The `not_found` error for something that does not exist, or that this caller must not know of. */
export const notFound = (what: Identified): ServiceError => new ServiceError('not_found', messages[what]);
