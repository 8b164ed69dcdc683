import { type PaymentRail, RailRefusedError, RailUnavailableError } from '../rails/rail.ts';
import { type ApplyDependencies, applyEvent, type EventSource } from './apply-event.ts';
import type { OrderRecord } from './order-record.ts';

/** What became of opening: `refused` for good, `unavailable` until somebody tries again. */
export interface Opening {
  readonly order: OrderRecord;
  readonly ended: 'opened' | 'refused' | 'unavailable';
}

/**
 * Opens a created order at its rail. Safe to do again at any time: the rail finds what it has opened before. Only a
 * caller that holds the order's lease may (`next_check_at`), because not every rail has idempotency keys.
 */
export async function openOrder(
  deps: ApplyDependencies,
  { rail, order, source }: { readonly rail: PaymentRail; readonly order: OrderRecord; readonly source: EventSource },
): Promise<Opening> {
  try {
    const opened = await rail.open(order);
    let current = await applyEvent(deps, order.id, { type: 'opened' }, { source, opened });
    for (const event of opened.events) current = await applyEvent(deps, order.id, event, { source });
    return { order: current?.order ?? order, ended: 'opened' };
  } catch (error) {
    if (error instanceof RailUnavailableError) {
      deps.events.railFailed({ rail: rail.name, action: 'open', code: error.code });
      return { order, ended: 'unavailable' };
    }
    if (!(error instanceof RailRefusedError)) throw error;
    deps.events.railFailed({ rail: rail.name, action: 'open', code: error.code });
    const reason = error.code === 'no_saved_card' ? error.code : 'refused';
    const failed = await applyEvent(deps, order.id, { type: 'failed', reason }, { source });
    return { order: failed?.order ?? order, ended: 'refused' };
  }
}
