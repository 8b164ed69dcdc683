import { creditNusd } from '@sotto/wire';
import type { Bound } from '../purse/balance.ts';
import type { WalletOrder } from '../purse/credit-service.ts';
import type { Purse } from '../purse/purse.ts';
import { printableLine } from './terminal.ts';

/** Where to pay an order. The service chose these words, so they are shown without control characters. */
export function orderText({ id, status, amount, total, expires_at, problem, pay_to }: WalletOrder): string {
  const lines = [
    status === 'pending'
      ? `Pay ${total} USD for a wallet of ${amount} USD: once, exactly, in one of these ways, until ${expires_at}.`
      : `Order ${id} is ${status}. ${problem?.message ?? ''}`,
  ];
  for (const { method, amount: due, currency, destination, link } of pay_to)
    lines.push(`${method}: ${due} ${currency} to ${destination}`, ...(link === null ? [] : [link]));
  if (pay_to.length > 0)
    lines.push('Payments on a chain can be traced to who paid. Prefer Lightning, or coins that do not name you.');
  return lines.map((line) => `${printableLine(line)}\n`).join('');
}

/** What credits are worth, such as `$5.00`. */
export const worth = (credits: number): string => `$${((credits * Number(creditNusd)) / 1e9).toFixed(2)}`;

/** What to do when there is less than a lot. */
export const outgrown =
  'There is less than a lot left. Buying more just now would name you: pass a higher --lots-a-week to `sotto purse buy`, and wait.';

const oneEach = 'Each time it does this for one. Wait some hours in between: what you do within minutes can be linked.';

const boundText = ({ wallets, credits, packages }: Bound): string =>
  `${wallets} wallets of ${[...(credits > 0 ? [`${credits} credits (${worth(credits)})`] : []), ...packages].join(', ')}`;

/** What is in the purse, and what to do about it. */
export function balanceText(purse: Purse): string {
  const { ready, resting, aside, inUse, abandoned, paidWallets, orderedWallets, readyAt } = purse.balance();
  const lines = [`${ready} credits (${worth(ready)}) are ready, ${resting} (${worth(resting)}) are resting.`];
  if (ready < 50 && readyAt !== undefined) lines.push(`50 are ready at ${new Date(readyAt).toISOString()}.`);
  if (ready + resting < 50) lines.push(outgrown);
  if (paidWallets > 0) lines.push(`${paidWallets} paid wallets are there. \`--anonymous\` uses them first.`);
  if (orderedWallets > 0)
    lines.push(`${orderedWallets} wallets are ordered. \`sotto purse settle\` asks whether they are paid. ${oneEach}`);
  if (aside > 0) lines.push(`${aside} credits are set aside after a refused deposit.`);
  if (inUse.wallets > 0) lines.push(`${boundText(inUse)} are in use, or their command was killed in the last minute.`);
  if (abandoned.wallets > 0)
    lines.push(
      `${boundText(abandoned)} are not closed. Run \`sotto purse settle\`, some time after they were used. ${oneEach}`,
    );
  return `${lines.join('\n')}\n`;
}
