import { maxNusd, nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type { ErrorsOf } from '../database/refused.ts';
import { notFound } from '../serve/not-found.ts';
import type { NoAccount } from './account-store.ts';

/** The errors of what operators do to accounts, by the API and by the command line. */
export const accountErrors: ErrorsOf<NoAccount | { readonly why: 'too_much' }> = {
  no_account: () => notFound('account'),
  deleted: () => new ServiceError('conflict', { message: 'The owner of this account deleted it.' }),
  too_much: () =>
    new ServiceError('invalid_request', { message: `The balance would exceed ${nusdToUsd(maxNusd)} USD.` }),
};
