import { setTimeout as sleep } from 'node:timers/promises';
import { type Nusd, nusdToUsd } from '@sotto/money';
import type pg from 'pg';
import type { ControlEvents } from '../events.ts';
import { refusalPercent } from '../ledger/budget-alerts.ts';
import { scopeOf } from '../ledger/budget-months.ts';
import { type Mail, type Mailer, mailOf } from '../mail/mail.ts';
import { wordsOf } from './alert-words.ts';
import {
  type AlertNow,
  type Channel,
  claimDeliveries,
  type Delivery,
  endDelivery,
  nextAttempt,
  postponeDelivery,
  readAlert,
  renewDeliveries,
} from './delivery-store.ts';
import { type AlertEvent, eventBody } from './event-body.ts';
import { sendEvent, type WebhookNetwork } from './send-event.ts';
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
  /** By the ids of the deliveries. */
  readonly #running: Readonly<Record<Channel, Map<string, Promise<void>>>> = { mail: new Map(), webhook: new Map() };

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
          .finally(() => running.delete(delivery.id));
        running.set(delivery.id, started);
      }
    }
  }

  /** Keeps the deliveries under way from other processes for some minutes more. */
  async renew(): Promise<void> {
    const ids = channels.flatMap((channel) => [...this.#running[channel].keys()]);
    if (ids.length > 0) await renewDeliveries(this.#deps.pool, ids, this.#deps.now());
  }

  /** Waits until the deliveries under way have ended and are noted, but not for those that hang. */
  async ended(): Promise<void> {
    const running = channels.flatMap((channel) => [...this.#running[channel].values()]);
    await Promise.race([Promise.all(running), sleep(longestMs, undefined, { ref: false })]);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { pool, events, now } = this.#deps;
    const alert = await readAlert(pool, delivery);
    const failure = alert && (await this.#attempt(delivery, alert));
    if (alert === undefined || failure === undefined) {
      await endDelivery(pool, delivery);
      return;
    }
    const at = nextAttempt(delivery, now());
    const by: Channel = delivery.recipientId === undefined ? 'webhook' : 'mail';
    if (at === undefined) await endDelivery(pool, delivery);
    else await postponeDelivery(pool, delivery, at);
    const { alertId } = delivery;
    events.alertFailed({ alertId, workspaceId: alert.workspace_id, by, failure, isGivenUp: at === undefined });
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
    const { webhooks, network, origin, now } = this.#deps;
    const webhook = await findWebhook(webhooks, alert.workspace_id);
    if (webhook === undefined) return undefined;
    const body = eventBody(alertEvent(alert, origin), webhook.format);
    const { outcome, status } = await sendEvent({ ...webhook, body, id: alertId }, network, now());
    if (outcome === 'delivered') return undefined;
    return status === null ? outcome : `${outcome} ${status}`;
  }
}

function alertMail(alert: AlertNow, to: string, origin: string): Mail {
  const { subject, sentences } = wordsOf(alert);
  return mailOf(to, subject, [...sentences, 'Budgets and alerts:', `${origin}/budgets`]);
}

function alertEvent(alert: AlertNow, origin: string): AlertEvent {
  const [limitNusd, spentNusd] = [BigInt(alert.limit_nusd), BigInt(alert.spent_nusd)];
  const isRefusal = alert.percent === refusalPercent;
  const personId = alert.member_id ?? alert.key_creator_id;
  return {
    type: isRefusal ? 'budget.refusal' : 'budget.alert',
    text: wordsOf(alert).sentences.join(' '),
    workspace: { id: alert.workspace_id, name: alert.workspace },
    person: personId === null ? null : { id: personId, email: alert.member_email ?? alert.key_creator_email },
    key: alert.key_id === null ? null : { id: alert.key_id, name: alert.key_name ?? '' },
    tag: alert.tag,
    budget: {
      id: alert.budget_id,
      scope: scopeOf(alert),
      limit_usd: nusdToUsd(limitNusd),
      spent_usd: nusdToUsd(spentNusd),
    },
    percent: isRefusal ? spentPercent(spentNusd, limitNusd) : alert.percent,
    month: alert.month,
    url: `${origin}/budgets`,
  };
}

/** Returns the whole percents of a limit. Nothing covers a request at a limit of 0. */
const spentPercent = (spentNusd: Nusd, limitNusd: Nusd): number =>
  limitNusd === 0n ? 100 : Number((spentNusd * 100n) / limitNusd);
