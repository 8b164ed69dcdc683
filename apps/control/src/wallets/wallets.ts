import { type WalletOrder, walletContracts } from '@sotto/contract/control/wallets';
import { repeat } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import { orError } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import { ConcurrencyLimit } from '../limits/concurrency-limit.ts';
import { unlessUnavailable } from '../projection/project-keys.ts';
import type { Batch, CreditsDependencies } from './batch.ts';
import { closeWallet, hasMore } from './close-wallet.ts';
import {
  type DepositDependencies,
  depositCredits,
  findWallet,
  readDeposit,
  type Wallet,
  type WalletHashes,
} from './deposit.ts';
import { endReservations } from './end-reservations.ts';
import { createPermission, revokePermission } from './standing-permission.ts';
import { walletErrors } from './wallet-errors.ts';
import { lotsLeft, withdrawCredits } from './withdraw-credits.ts';

export interface WalletDependencies extends CreditsDependencies, DepositDependencies {
  /** Places or finds the order that pays for a wallet. Resolves to undefined once it is paid. */
  readonly orderWallet: (asked: WalletHashes & { readonly packageId: string }) => Promise<WalletOrder | undefined>;
}

const codeMs = 365 * 86_400_000;
/** How recent a sign-in must be, of any kind. */
const freshMs = 5 * 60_000;
const endMs = 15_000;
/**
 * Anybody may make wallets, through relays that many share. So all callers together are limited, and not each address.
 * Orders wait for a payment service and have a limit of their own, so that they do not delay deposits.
 */
const mostAtOnce = { running: 4, waiting: 100 };

/** Anonymous wallets: accounts without a user, which blind credits or crypto pay for. Built only if `ANONYMOUS_WALLETS` is on. */
export function buildWallets(deps: WalletDependencies): Domain {
  const { pool, projector, issuer, now } = deps;
  const deposits = new ConcurrencyLimit(mostAtOnce);
  const orders = new ConcurrencyLimit(mostAtOnce);
  return {
    register({ serve }) {
      serve(walletContracts)({
        'GET /v1/credits': async () => issuer.published,

        'POST /v1/credits/codes': async ({ caller: { accountId, sessionId, signedInAt }, body: { lots } }) => {
          if (now() - signedInAt * 1000 > freshMs)
            throw new ServiceError('session_not_fresh', { message: 'Sign in again. A code counts as money.' });
          const expiresAt = new Date(now() + codeMs);
          const created = await createPermission(pool, { accountId, sessionId, lots, expiresAt });
          const code = orError(created, walletErrors);
          return { code, lots, expires_at: expiresAt.toISOString() };
        },

        'GET /v1/credits/codes': async ({ caller: { accountId } }) => {
          const { rows } = await pool.query<{ lots: number; expires_at: Date }>(
            'select lots, expires_at from credit_codes where account_id = $1 and expires_at > $2',
            [accountId, new Date(now())],
          );
          const permission = rows[0] && { lots: rows[0].lots, expires_at: rows[0].expires_at.toISOString() };
          return { permission: permission ?? null };
        },

        'DELETE /v1/credits/codes': async ({ caller: { accountId } }) => revokePermission(pool, accountId),

        'POST /v1/credits': async ({ body: { code, ...batch } }) => {
          const signed = await withdrawCredits(deps, { ...toBatch(batch), paidBy: { kind: 'code', secret: code } });
          return { ...toAnswer(orError(signed, walletErrors)), lots: await lotsLeft(pool, code) };
        },

        'POST /v1/wallets': async ({ body, reply }) => {
          const hashes = { keyHash: body.key_hash, closeHash: body.close_hash };
          let wallet: Wallet | undefined;
          const { package_id: packageId } = body;
          if (packageId !== undefined) {
            const order = await orders.run(() => deps.orderWallet({ ...hashes, packageId }));
            if (order !== undefined) return reply.code(202).send(order);
            wallet = await findWallet(pool, hashes);
          } else {
            const tokens = (body.credits ?? []).map((credit) => Buffer.from(credit, 'base64url'));
            const deposit = orError(readDeposit(issuer, { ...hashes, tokens }), walletErrors);
            wallet = orError(await deposits.run(() => depositCredits(deps, deposit)), walletErrors);
          }
          if (wallet === undefined) throw new Error('a paid wallet is missing');
          // If the state is unavailable, the projector catches up.
          const { accountId, keyId } = wallet;
          await Promise.all([projector.account(accountId), projector.key(keyId)]).catch(unlessUnavailable);
        },

        'POST /v1/wallets/close': async ({ body: { close_secret: secret, ...batch } }) => {
          const signed = await closeWallet(deps, { ...toBatch(batch), paidBy: { kind: 'close', secret } });
          return {
            ...toAnswer(orError(signed, walletErrors)),
            ...((await hasMore(pool, secret)) ? { more: true as const } : {}),
          };
        },
      });
    },
    tasks: (failed) => [repeat(endMs, () => endReservations(deps), failed('reservations'))],
  };
}

const toBatch = ({
  key_id,
  blinded,
}: {
  readonly key_id: string;
  readonly blinded: readonly string[];
}): Omit<Batch, 'paidBy'> => ({ keyId: key_id, blinded: blinded.map((number) => Buffer.from(number, 'base64url')) });

const toAnswer = (signatures: readonly Buffer[]) => ({
  signatures: signatures.map((signature) => signature.toString('base64url')),
});
