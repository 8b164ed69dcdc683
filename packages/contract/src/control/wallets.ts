import {
  base64urlField,
  creditIssuerSchema,
  creditsPerBatch,
  signatureBytes,
  signedCreditsSchema,
  tokenInputBytes,
} from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { instant } from '../fields.ts';
import { json } from '../route.ts';
import { orderAnswerSchema, packageId } from './orders.ts';

/** Where to pay an invoice by one method of BTCPay Server, such as `BTC-CHAIN` or `BTC-LN`, without opening a page. */
const payToSchema = z.strictObject({
  method: z.string(),
  currency: z.string(),
  /** What is due, in the method's currency. */
  amount: z.string(),
  destination: z.string(),
  /** For wallets, such as `bitcoin:` or `lightning:`. */
  link: z.string().nullable(),
});
export type PayTo = z.infer<typeof payToSchema>;

/** Answer of `POST /wallets`: an order that is not paid. `pay_to` is empty before and after it can be paid. */
export const walletOrderSchema = orderAnswerSchema
  .omit({ checkout_url: true })
  .extend({ pay_to: z.array(payToSchema) });
export type WalletOrder = z.infer<typeof walletOrderSchema>;

/** Body of `POST /credits/codes`: the batches that the code may withdraw, each for 5 USD. */
export const createCreditCodeSchema = z.strictObject({ lots: z.int().min(1).max(200) });

const permission = { lots: z.int().min(0), expires_at: instant };
export const creditCodeSchema = z.strictObject({ code: z.string(), ...permission });
/** Answer of `GET /credits/codes`: the batches that are left, and until when. */
export const creditPermissionSchema = z.strictObject({ permission: z.strictObject(permission).nullable() });

const batch = {
  /** The issuer key that is to sign. */
  key_id: z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in lower-case hex' }),
  blinded: z.array(base64urlField(signatureBytes)).length(creditsPerBatch),
};

export const withdrawCreditsSchema = z.strictObject({
  code: z
    .string()
    .regex(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/, { error: 'must be a code of the dashboard' }),
  ...batch,
});

/** Body of `POST /wallets`: 50 credits, or the package of an order. */
export const createWalletSchema = z
  .strictObject({
    /** SHA-256 of the wallet's key, which is an inference key that the client made, in base64url. */
    key_hash: base64urlField(32),
    /** SHA-256 of the secret that closes the wallet. */
    close_hash: base64urlField(32),
    credits: z
      .array(base64urlField(tokenInputBytes + signatureBytes))
      .length(creditsPerBatch)
      .optional(),
    package_id: packageId.optional(),
  })
  .refine(({ credits, package_id }) => (credits === undefined) !== (package_id === undefined), {
    error: 'must have either `credits` or `package_id`',
  });

export const closeWalletSchema = z.strictObject({ close_secret: base64urlField(32), ...batch });

/** Blind credits and the wallets that they pay for. Each route is `not_found` unless the operator enabled anonymous wallets. */
export const walletContracts = contracts({
  'GET /v1/credits': {
    operationId: 'getCreditIssuer',
    summary: 'Get the issuer of credits',
    description:
      'The issuer’s name and its key of each year, in the form of the `credits` of a client’s pins. A list that you fetch proves nothing: the service could show you another one than everybody else. Clients use only the keys that they pin.',
    credentials: [],
    cache: 'public',
    answer: creditIssuerSchema,
    returns: 'The issuer and its keys.',
    errors: ['not_found'],
  },
  'POST /v1/credits/codes': {
    operationId: 'createCreditCode',
    summary: 'Make a code to withdraw credits with',
    description:
      'The code may withdraw so many batches, each for 5 USD of the account’s balance, within a year. It replaces an earlier one. The session must have begun within five minutes.',
    credentials: ['session'],
    body: createCreditCodeSchema,
    status: 201,
    answer: creditCodeSchema,
    returns: 'The code. Only this answer contains it.',
    errors: ['session_not_fresh', 'not_found'],
  },
  'GET /v1/credits/codes': {
    operationId: 'getCreditCode',
    summary: 'Get what the code may still withdraw',
    description: 'Not the code itself: only its first answer had it.',
    credentials: ['session'],
    answer: creditPermissionSchema,
    returns: 'The batches that are left, or null if there is no code.',
    errors: ['not_found'],
  },
  'DELETE /v1/credits/codes': {
    operationId: 'revokeCreditCode',
    summary: 'Revoke the code',
    description: 'It withdraws nothing more from the moment of the answer on.',
    credentials: ['session'],
    status: 204,
    returns: 'There is no code.',
    errors: ['not_found'],
  },
  'POST /v1/credits': {
    operationId: 'withdrawCredits',
    summary: 'Withdraw a batch of credits',
    description:
      'Signs 50 blinded numbers for 5 USD of the account that made the code. Only what crypto paid and no request has used can leave. The same numbers get the same signatures again, whatever became of the code.',
    credentials: [],
    body: withdrawCreditsSchema,
    answer: signedCreditsSchema,
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
    body: createWalletSchema,
    status: 204,
    returns: 'The wallet exists, with 5 USD or the package.',
    otherAnswers: [
      {
        status: 202,
        description: 'The order is not paid. Pay it at one entry of `pay_to`.',
        content: [json(walletOrderSchema)],
      },
    ],
    errors: ['not_found', 'credits_spent', 'conflict', 'rate_limited', 'rail_disabled', 'rail_error'],
  },
  'POST /v1/wallets/close': {
    operationId: 'closeWallet',
    summary: 'Close a wallet',
    description:
      'Revokes the wallet’s key, and signs as many of the blinded numbers as the balance pays for. If there is more, the answer says so, and another batch gets it. A rest below a credit becomes one with the probability rest ÷ credit. 409 while requests are not booked. The same request gets the same signatures again.',
    credentials: [],
    body: closeWalletSchema,
    answer: signedCreditsSchema,
    returns: 'Blind signatures of the first numbers, as many as there are credits.',
    errors: ['not_found', 'conflict'],
  },
});
