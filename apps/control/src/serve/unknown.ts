import type { Identified } from '@sotto/contract';
import { ServiceError } from '@sotto/wire';

const unknowns: Readonly<Record<Identified, { readonly message: string; readonly param?: string }>> = {
  app: { message: 'This account has no such app.' },
  grant: { message: 'This account has no such grant.' },
  invitation: { message: 'There is no such invitation: it was used, withdrawn or replaced, or has expired.' },
  key: { message: 'This account has no such key.' },
  member: { message: 'This workspace has no such member.' },
  order: { message: 'This account has no such order.' },
  receipt: { message: 'This account has no such receipt.' },
  workspace: { message: 'This account is in no such workspace.', param: 'workspace_id' },
};

/** The `not_found` of a thing that is not there, or that this caller must not know of. */
export const unknown = (what: Identified): ServiceError => new ServiceError('not_found', unknowns[what]);
