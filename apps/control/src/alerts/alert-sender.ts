import { setTimeout as sleep } from 'node:timers/promises';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { monthAfter } from '@sotto/state';
import type pg from 'pg';
import type { ControlEvents } from '../events.ts';
import { scopeOf } from '../ledger/budget-months.ts';
import { type Mail, type Mailer, mailOf, oneLine } from '../mail/mail.ts';
import {
  type AlertNow,
  type Channel,
  claimDeliveries,
  type Delivery,
  endDelivery,
  nextAttempt,
  postponeDelivery,
  readAlert,
} from './delivery-store.ts';
import { eventBody, sendEvent, type WebhookNetwork } from './send-event.ts';
import { findWebhook, type WebhookStore } from './webhook-store.ts';

export interface AlertSenderDependencies {
  readonly pool: pg.Pool;
  readonly webhooks: WebhookStore;
  readonly network: WebhookNetwork;
  /** Undefined: alerts are not mailed. */
  readonly mailer: Mailer | undefined;
  /** The public control origin. Links lead to its pages. */
  readonly origin: string;
  readonly events: Pick<ControlEvents, 'alertFailed'>;
  readonly onFailed: (error: unknown) => void;
  readonly now: () => number;
}

const channels: readonly Channel[] = ['mail', 'webhook'];
/** For each channel, so that neither waits for the other. */
const mostAtOnce = 64;
/** The time that a stop leaves to deliveries. An event has five seconds. */
const longestMs = 6_000;

/**
 * Sends alerts, and does not wait for those that take long: a webhook that hangs holds one of many places.
 *
 * A process that dies before it notes a delivery leaves its lease, and another one sends the alert again. So each is sent at least
 * once, and receivers recognize a repeated event by its id.
 */
export class AlertSender {
  readonly #deps: AlertSenderDependencies;
  readonly #running: Readonly<Record<Channel, Set<Promise<void>>>> = { mail: new Set(), webhook: new Set() };

  constructor(deps: AlertSenderDependencies) {
    this.#deps = deps;
  }

  /** Starts the deliveries that are due. */
  async send(): Promise<void> {
    const { pool, onFailed, now } = this.#deps;
    for (const channel of channels) {
      const running = this.#running[channel];
      const most = mostAtOnce - running.size;
      if (most <= 0) continue;
      for (const delivery of await claimDeliveries(pool, { channel, now: now(), most })) {
        const started = this.#deliver(delivery)
          .catch(onFailed)
          .finally(() => running.delete(started));
        running.add(started);
      }
    }
  }

  /** Waits until the deliveries under way have ended and are noted, but not for those that hang. */
  async ended(): Promise<void> {
    const running = channels.flatMap((channel) => [...this.#running[channel]]);
    await Promise.race([Promise.all(running), sleep(longestMs, undefined, { ref: false })]);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { pool, events, now } = this.#deps;
    const alert = await readAlert(pool, delivery);
    const failure = alert && (await this.#attempt(delivery, alert));
    if (failure === undefined) {
      await endDelivery(pool, delivery);
      return;
    }
    const at = nextAttempt(delivery, now());
    const by: Channel = delivery.recipientId === undefined ? 'webhook' : 'mail';
    if (at === undefined) await endDelivery(pool, delivery);
    else await postponeDelivery(pool, delivery, at);
    events.alertFailed({ alertId: delivery.alertId, by, failure, isGivenUp: at === undefined });
  }

  /** Returns why it failed. Undefined: the alert was sent, or there is nowhere to send it any more. */
  #attempt(delivery: Delivery, alert: AlertNow): Promise<string | undefined> {
    return delivery.recipientId === undefined ? this.#post(delivery, alert) : this.#mail(alert);
  }

  async #mail(alert: AlertNow): Promise<string | undefined> {
    const { mailer, origin } = this.#deps;
    if (alert.recipient === null) return undefined;
    return mailer?.send(alertMail(alert, alert.recipient, origin)).then(
      () => undefined,
      () => 'not sent',
    );
  }

  async #post({ alertId }: Delivery, alert: AlertNow): Promise<string | undefined> {
    const { webhooks, network, now } = this.#deps;
    const webhook = await findWebhook(webhooks, alert.workspace_id);
    if (webhook === undefined) return undefined;
    const body = eventBody({
      ...{ type: 'budget.alert', percent: alert.percent, month: alert.month },
      budget: { id: alert.budget_id, scope: scopeOf(alert) },
    });
    const { outcome, status } = await sendEvent({ ...webhook, body, id: alertId }, network, now());
    if (outcome === 'delivered') return undefined;
    return status === null ? outcome : `${outcome} ${status}`;
  }
}

/** Builds the mail of an alert. Names that people chose are cut to one line. */
function alertMail(alert: AlertNow, to: string, origin: string): Mail {
  const { workspace, percent, month } = alert;
  const scope = scopeOf(alert);
  const limited = alert.key_name ?? alert.member_email;
  const budget = `budget of the ${scope}${limited === null ? '' : ` ${quoted(limited)}`}`;
  const name = quoted(workspace);
  return mailOf(to, `${percent} % of a budget is used: ${oneLine(workspace)}`, [
    `The monthly ${budget}${scope === 'workspace' ? ` ${name}` : ` in the workspace ${name}`} has passed ${percent} %.`,
    `Charged in ${month} (UTC) so far: ${usd(BigInt(alert.spent_nusd))} of ${usd(BigInt(alert.limit_nusd))}.`,
    percent === 100
      ? `Requests that would exceed it are refused until ${monthAfter(month)}-01 00:00 UTC.`
      : 'At 100 %, further requests are refused until the month ends.',
    'Budgets and alerts:',
    `${origin}/budgets`,
  ]);
}

const quoted = (name: string): string => `"${oneLine(name)}"`;

/** To the cent, and below a cent as exactly as the ledger counts. */
const usd = (amount: Nusd): string => {
  const number = nusdToUsd(amount);
  return `$${number >= 0.01 || number === 0 ? number.toFixed(2) : number.toFixed(9).replace(/0+$/, '')}`;
};
