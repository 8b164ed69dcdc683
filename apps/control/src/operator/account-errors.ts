import { maxNusd, nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type { DeletionObstacle } from '../account-deletion/delete-account.ts';
import type { NotDeleted } from '../account-deletion/delete-person.ts';
import type { ErrorsOf } from '../database/refused.ts';
import { oneLine } from '../mail/mail.ts';
import { notFound } from '../serve/not-found.ts';
import type { NoAccount } from './account-store.ts';

/** The errors of what operators do to accounts, by the API and by the command line. */
export const accountErrors: ErrorsOf<NoAccount | { readonly why: 'too_much' }> = {
  no_account: () => notFound('account'),
  deleted: () => new ServiceError('conflict', { message: 'This account is deleted.' }),
  too_much: () =>
    new ServiceError('invalid_request', { message: `The balance would exceed ${nusdToUsd(maxNusd)} USD.` }),
};

const conflict = (message: string): ServiceError => new ServiceError('conflict', { message });

const alreadyDeleted = 'This account is deleted already.';

const obstacles: Readonly<Record<DeletionObstacle['kind'], (obstacle: DeletionObstacle) => string>> = {
  operator: () => 'This person administers the deployment. Revoke the operator role first.',
  deleted: () => alreadyDeleted,
  paying: () => 'A payment of this account is under way. Wait until it is paid or has expired.',
  shared: ({ workspaceName = '' }) =>
    `Other people use its workspace "${oneLine(workspaceName)}". Its owner can transfer it; or delete it, too, with \`with_workspaces\`.`,
};

export const deletionErrors = (email: string): ErrorsOf<NotDeleted> => ({
  no_account: () => notFound('account'),
  deleted: () => conflict(alreadyDeleted),
  no_person: () => conflict('No person signs in to this account. Disable it instead.'),
  other_address: () =>
    new ServiceError('invalid_request', {
      message: `\`email\` is \`${email}\`, which is not the address of this account.`,
      param: 'email',
    }),
  obstacle: ({ obstacle }) => conflict(obstacles[obstacle.kind](obstacle)),
});
