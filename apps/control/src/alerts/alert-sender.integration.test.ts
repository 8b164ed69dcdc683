import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import { monthOf } from '@sotto/state';
import { beforeEach, expect, it } from 'vitest';
import { createAccount } from '../accounts/ensure-account.ts';
import { insertKey } from '../keys/key-store.ts';
import { bookSettlements } from '../ledger/book-settlements.ts';
import type { Mail } from '../mail/mail.ts';
import { sealing } from '../sessions/session-secrets.ts';
import { done } from '../testing/outcomes.integration.ts';
import { openTestDatabase, settledChat } from '../testing/test-database.integration.ts';
import { removeBudget, setBudget } from '../workspaces/budget-store.ts';
import { AlertSender } from './alert-sender.ts';
import { claimDeliveries, nextAttempt, purgeAlerts, readAlert } from './delivery-store.ts';
import { setWebhook, type WebhookStore, webhookPurpose } from './webhook-store.ts';

const { pool } = await openTestDatabase();
const webhooks: WebhookStore = { pool, sealing: sealing(['x'.repeat(32)], webhookPurpose) };

beforeEach(async () => {
  await pool.query('delete from budget_alerts');
});

const now = Date.now();
const minuteMs = 60_000;

/** An owner with a verified address, a webhook and some keys, each of which has passed half of its budget. */
async function passHalf(keys: number) {
  const [userId, email] = [randomUUID(), `${randomUUID()}@people.example`];
  await pool.query('insert into auth_user (id, name, email, email_verified) values ($1, $2, $3, true)', [
    userId,
    'x',
    email,
  ]);
  const { accountId, defaultWorkspaceId: workspaceId } = await createAccount(pool, { userId, name: email });
  const owner = { accountId, workspaceId };
  await setWebhook(webhooks, owner, { url: 'https://127.0.0.1:1/', format: 'json' });
  const budgetIds: string[] = [];
  for (let made = 0; made < keys; made += 1) {
    const key = { ...owner, kind: 'inference', name: `key ${made}`, openaiCompatible: true } as const;
    const { id: keyId } = await insertKey(pool, { ...key, creditLimitNusd: undefined });
    const budget = await done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd: 10n, keyId }, now));
    budgetIds.push(budget.id);
    const settlement = { ...settledChat, id: randomUUID(), chargeNusd: '5', at: now, month: monthOf(now) };
    await bookSettlements(pool, [{ settlement, owner: { ...owner, keyId } }]);
  }
  return { ...owner, email, budgetIds };
}

it('claims one delivery of each webhook and recipient at a time, each for one process, and again after its lease', async () => {
  const [one, other] = [await passHalf(3), await passHalf(1)];
  const at = Date.now() + 1;
  const claim = async (now: number) => [
    ...(await claimDeliveries(pool, { channel: 'mail', now, most: 64 })),
    ...(await claimDeliveries(pool, { channel: 'webhook', now, most: 64 })),
  ];
  const claims = await Promise.all([claim(at), claim(at)]);
  const first = claims.flat();
  expect(new Set(first.map(({ id }) => id)).size).toBe(first.length);
  for (const round of claims) {
    for (const accountId of [one.accountId, other.accountId])
      expect(round.filter(({ recipientId }) => recipientId === accountId).length).toBeLessThanOrEqual(1);
    expect(round.filter(({ recipientId }) => recipientId === undefined).length).toBeLessThanOrEqual(2);
  }
  // Four alerts, each by mail and to a webhook.
  const all = [...first];
  for (let round = first; round.length > 0; all.push(...round)) round = await claim(at);
  expect(new Set(all.map(({ id }) => id)).size).toBe(8);
  expect((await claim(at + 6 * minuteMs)).length).toBe(4);
});

it('a delivery that hangs keeps no other alert waiting', async () => {
  const mails: Mail[] = [];
  const failures: unknown[] = [];
  const sender = new AlertSender({
    ...{ pool, webhooks, origin: 'https://sotto.example', now: Date.now },
    network: { networks: undefined },
    mailer: {
      how: 'sent',
      send: (mail) => {
        mails.push(mail);
        return new Promise(() => {});
      },
      close: () => {},
    },
    events: { alertFailed: () => {} },
    onFailed: (error) => void failures.push(error),
  });
  const [one, other] = [await passHalf(1), await passHalf(1)];
  while (mails.length < 2) await sender.send();
  const third = await passHalf(1);
  while (mails.length < 3) await sender.send();
  expect(mails.map(({ to }) => to).toSorted()).toEqual([one.email, other.email, third.email].toSorted());
  expect(failures).toEqual([]);
});

it('another process does not send a mail that is under way, however long it takes, until the process that sends it has died', async () => {
  const { email } = await passHalf(1);
  const sent: string[] = [];
  let clock = Date.now() + 1;
  const process = (name: string) =>
    new AlertSender({
      ...{ pool, webhooks, origin: 'https://sotto.example', now: () => clock, network: { networks: undefined } },
      mailer: {
        how: 'sent',
        send: ({ to }) => {
          if (to === email) sent.push(name);
          return new Promise(() => {});
        },
        close: () => {},
      },
      events: { alertFailed: () => {} },
      onFailed: (error) => {
        throw error;
      },
    });
  const [one, other] = [process('one'), process('other')];
  while (sent.length < 1) await one.send();
  for (let renewed = 0; renewed < 5; renewed += 1) {
    clock += 3 * minuteMs;
    await one.renew();
    expect(await claimDeliveries(pool, { channel: 'mail', now: clock, most: 64 })).toEqual([]);
  }
  clock += 6 * minuteMs;
  while (sent.length < 2) await other.send();
  expect(sent).toEqual(['one', 'other']);
});

it('a stop waits until a delivery under way is noted, so that nobody gets it twice', async () => {
  await passHalf(1);
  let [arrive, sent] = [(): void => {}, false];
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const sender = new AlertSender({
    ...{ pool, webhooks, origin: 'https://sotto.example', now: Date.now, network: { networks: undefined } },
    mailer: {
      how: 'sent',
      send: async () => {
        sent = true;
        await arrived;
      },
      close: () => {},
    },
    events: { alertFailed: () => {} },
    onFailed: () => {},
  });
  while (!sent) await sender.send();
  const ended = sender.ended();
  arrive();
  await ended;
  const { rowCount } = await pool.query('select 1 from alert_deliveries where account_id is not null');
  expect(rowCount).toBe(0);
});

it('sends no alert of a budget that was removed, nor to a person who may no longer know of it', async () => {
  const owner = await passHalf(1);
  const [delivery] = await claimDeliveries(pool, { channel: 'mail', now: Date.now() + 1, most: 64 });
  if (delivery === undefined) throw new Error('no delivery');
  expect(await readAlert(pool, delivery)).toMatchObject({ percent: 50, recipient: owner.email, spent_nusd: '5' });
  const stranger = await passHalf(0);
  const toStranger = { ...delivery, recipientId: stranger.accountId };
  expect(await readAlert(pool, toStranger)).toMatchObject({ recipient: null });
  await pool.query('update auth_user set email_verified = false where email = $1', [owner.email]);
  expect(await readAlert(pool, delivery)).toMatchObject({ recipient: null });
  const handOver = (to: string) =>
    pool.query('update workspaces set account_id = $2, is_default = false where id = $1', [owner.workspaceId, to]);
  await handOver(stranger.accountId);
  expect(await readAlert(pool, delivery)).toBeUndefined();
  await handOver(owner.accountId);
  await removeBudget(pool, owner, owner.budgetIds[0] ?? '', Date.now());
  expect((await pool.query('select 1 from alert_deliveries')).rowCount).toBe(0);
});

it('waits longer after each failure, and gives up within a day', () => {
  const notedAt = new Date(0);
  const times: number[] = [];
  for (let at = 0, attempts = 1; ; attempts += 1) {
    const next = nextAttempt({ attempts, notedAt }, at)?.getTime();
    if (next === undefined) break;
    times.push(next - at);
    at = next;
  }
  expect(times.every((pause, index) => index === 0 || pause > (times[index - 1] ?? 0))).toBe(true);
  expect(times.length).toBeGreaterThan(8);
  const total = times.reduce((sum, pause) => sum + pause, 0);
  expect(total).toBeLessThanOrEqual(24 * 60 * minuteMs);
  expect(total).toBeGreaterThan(12 * 60 * minuteMs);
});

it('forgets the alerts of months that are no longer kept', async () => {
  await passHalf(1);
  await purgeAlerts(pool, now);
  expect((await pool.query('select 1 from budget_alerts')).rowCount).toBe(1);
  await purgeAlerts(pool, now + 80 * 24 * 60 * minuteMs);
  expect((await pool.query('select 1 from budget_alerts')).rowCount).toBe(0);
});
