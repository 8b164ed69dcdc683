import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';
import { json } from '../route.ts';

/** Blind credits and the wallets that they pay for. Each route is `not_found` unless the operator enabled anonymous wallets. */
export const walletContracts = contracts({
  'GET /v1/credits': {
    operationId: 'getCreditIssuer',
    summary: 'Get the issuer of credits',
    description:
      'The issuer’s name and its key of each year, in the form of the `credits` of a client’s pins. A list that you fetch proves nothing: the service could show you another one than everybody else. Clients use only the keys that they pin.',
    credentials: [],
    cache: 'public',
    answer: wire.creditIssuerSchema,
    returns: 'The issuer and its keys.',
    errors: ['not_found'],
  },
  'POST /v1/credits/codes': {
    operationId: 'createCreditCode',
    summary: 'Make a code to withdraw credits with',
    description:
      'The code is worth 5 USD of the account’s balance, for ten minutes. It works once, and replaces an earlier one. The session must have begun within five minutes.',
    credentials: ['session'],
    body: 'empty',
    status: 201,
    answer: wire.creditCodeSchema,
    returns: 'The code. Only this answer contains it.',
    errors: ['session_not_fresh', 'not_found'],
  },
  'POST /v1/credits': {
    operationId: 'withdrawCredits',
    summary: 'Withdraw a lot of credits',
    description:
      'Signs 50 blinded numbers for 5 USD of the account that made the code. Only what crypto paid and no request has used can leave. The same request gets the same signatures again.',
    credentials: [],
    body: wire.withdrawCreditsSchema,
    answer: wire.signedCreditsSchema,
    returns: 'A blind signature of each number.',
    errors: ['not_found', 'forbidden', 'insufficient_balance', 'top_up_limit'],
  },
  'POST /v1/wallets': {
    operationId: 'createWallet',
    summary: 'Make a wallet',
    description:
      'Deposits 50 credits, all or none, to a new wallet, or orders a package that you pay by crypto, without a page. The wallet’s key is an inference key that the client made, and opens no compatibility mode. The same request is the same deposit or order again: repeat it to learn whether an order is paid.',
    credentials: [],
    limit: 'uncounted',
    body: wire.createWalletSchema,
    status: 204,
    returns: 'The wallet exists, with 5 USD or the package.',
    otherAnswers: [
      {
        status: 202,
        description: 'The order is not paid. Pay it at one entry of `pay_to`.',
        content: [json(wire.walletOrderSchema)],
      },
    ],
    errors: ['not_found', 'credits_spent', 'conflict', 'rate_limited', 'rail_disabled', 'rail_error'],
  },
  'POST /v1/wallets/close': {
    operationId: 'closeWallet',
    summary: 'Close a wallet',
    description:
      'Revokes the wallet’s key, and signs as many of the blinded numbers as the balance pays for. If there is more, the answer says so, and another lot gets it. A rest below a credit becomes one with the probability rest ÷ credit. 409 while requests are not booked. The same request gets the same signatures again.',
    credentials: [],
    body: wire.closeWalletSchema,
    answer: wire.signedCreditsSchema,
    returns: 'Blind signatures of the first numbers, as many as there are credits.',
    errors: ['not_found', 'conflict'],
  },
});
