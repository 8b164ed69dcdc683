import { nusdToUsd, returnedNusd, usdToNusd } from '@sotto/money';
import { pino } from 'pino';
import { readBillingPlan, readBillingSettings } from '../billing/billing-settings.ts';
import { applyEvent } from '../billing/orders/apply-event.ts';
import { controlEvents } from '../events.ts';
import { CliError, type CliProcess } from './cli-process.ts';
import { uuidPattern, withDatabase } from './with-database.ts';

/**
 * Records what was returned to a customer outside of what the rails tell: refunds of crypto payments. The amount is all
 * that was returned so far, so that saying it again changes nothing.
 */
export async function orderRefund(
  context: CliProcess,
  { order, usd }: { readonly order: string | undefined; readonly usd: string | undefined },
): Promise<number> {
  if (order === undefined || !uuidPattern.test(order))
    throw new CliError('the first argument takes the id of an order');
  const totalNusd = usd === undefined || !/^\d+(\.\d{1,9})?$/.test(usd) ? undefined : usdToNusd(Number(usd));
  if (totalNusd === undefined || totalNusd === 0n) {
    throw new CliError('the second argument takes all that was returned of the order so far, in USD');
  }
  const settings = readBillingSettings(context.environment, { testRail: 'off' });
  if (!settings.ok) throw new CliError(settings.message);
  const plan = await readBillingPlan(settings.settings.file);
  if (!plan.ok) throw new CliError(plan.message);
  const applied = await withDatabase(context, (pool) =>
    applyEvent(
      {
        pool,
        seller: plan.settings.file.seller,
        events: controlEvents(pino({ level: 'silent' })),
        // Control projects the balance by its version.
        project: async () => {},
        now: Date.now,
      },
      order.toLowerCase(),
      { type: 'refunded', totalNusd },
      { source: 'operator' },
    ),
  );
  if (applied === undefined) throw new CliError(`there is no order ${order}`);
  context.out(`${applied.order.status}: ${nusdToUsd(returnedNusd(applied.order))} USD returned`);
  return 0;
}
