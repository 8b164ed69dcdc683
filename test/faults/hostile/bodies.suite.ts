import { randomBytes } from 'node:crypto';
import { type OutgoingHttpHeaders, request } from 'node:http';
import type { Socket } from 'node:net';
import { hashSecret } from '@sotto/state';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { errorIn, open, readAnswers } from '../../kit/raw-http.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { expectAlive, type Origin, originsOf } from './origins.ts';

const sockets = 16;
const kib = 1024;

/** Large bodies that never end must not keep other clients from sending theirs. */
export const bodiesSuite: Suite = {
  name: 'bodies that do not end',
  spec: { providers: { plain: {} }, models: { held: { routes: { plain: [1, 2] } } }, copies: 1 },
  tests(stage) {
    const [control, broker] = originsOf(stage);
    let account: TestAccount;
    let model: string;
    let opened: Socket[] = [];
    beforeAll(async () => {
      account = await stage.service.createAccount();
      model = stage.model('held');
    });
    afterEach(() => {
      for (const socket of opened) socket.destroy();
      opened = [];
    });

    /** Begins bodies of the largest size and never ends them. Returns their answers, which fill later. */
    const begin = async (origin: Origin, credential: string, count = sockets): Promise<readonly string[]> => {
      const texts: string[] = Array(count).fill('');
      for (let at = 0; at < count; at += 1) {
        const socket = await open(origin.url);
        socket.on('data', (piece: Buffer) => {
          texts[at] += piece.toString('latin1');
        });
        socket.write(
          `POST ${origin.post} HTTP/1.1\r\nhost: x\r\n${credential}content-type: application/json\r\ncontent-length: ${origin.bodyLimit}\r\n\r\n{`,
        );
        opened.push(socket);
      }
      return texts;
    };

    /** Begins a chat request of 300 KiB. */
    const beginChat = (headers: OutgoingHttpHeaders) => {
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'x'.repeat(300 * kib) }] });
      const sent = request(`${broker.url}${broker.post}`, {
        ...{ method: 'POST', agent: false },
        headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
      });
      const status = new Promise<number | undefined>((resolve, reject) => {
        sent.on('error', reject);
        sent.on('response', (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode));
        });
      });
      const half = body.length / 2;
      return {
        sendHalf: () => new Promise<void>((resolve) => void sent.write(body.slice(0, half), () => resolve())),
        async sendRest() {
          sent.end(body.slice(half));
          return status;
        },
      };
    };

    const sendLarge = async (secret = account.inferenceKey): Promise<number | undefined> => {
      const chat = beginChat({ authorization: `Bearer ${secret}` });
      await chat.sendHalf();
      return chat.sendRest();
    };

    const key = (secret: string): string => `authorization: Bearer ${secret}\r\n`;
    const usedTicket = async (): Promise<string> => {
      const { ticket } = await stage.service.mintTicket(account.inferenceKey, { model });
      const used = await fetch(`${stage.service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-router-ticket': ticket },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
      });
      expect(used.status).toBe(200);
      await used.body?.cancel();
      return ticket;
    };

    describe('are rejected by the broker before they arrive', () => {
      it.each<[string, () => string | Promise<string>, string]>([
        ['without a credential', () => '', 'ticket_required'],
        [
          'with a key that is unknown',
          () => key(`sotto_inf_${randomBytes(36).toString('base64url')}`),
          'invalid_api_key',
        ],
        ['with a ticket that does not open', () => 'x-router-ticket: made-up\r\n', 'invalid_ticket'],
        ['with a ticket that was used', async () => `x-router-ticket: ${await usedTicket()}\r\n`, 'invalid_ticket'],
      ])('%s', async (_, credential, type) => {
        const texts = await begin(broker, await credential());
        await until(() => texts.every((text) => readAnswers(text).length === 1), 'all are refused');
        for (const text of texts) {
          const [answer] = readAnswers(text);
          expect([answer?.status, answer && errorIn(answer).type]).toEqual([401, type]);
        }
        expect(await sendLarge()).toBe(200);
        await until(() => opened.every(({ destroyed }) => destroyed), 'their connections are closed');
      });
    });

    it('do not reserve memory by their announced size, even with a valid key', async () => {
      for (const origin of [control, broker]) await begin(origin, key(account.inferenceKey));
      expect([await sendLarge(), await sendLarge(await stage.service.createKey(account))]).toEqual([200, 200]);
      await expectAlive(stage, account, model);
    });

    it('are rejected if their key is revoked while they arrive, and cost nothing', async () => {
      const { service } = stage;
      const secret = await service.createKey(account);
      const before = await service.settled(account);
      const chat = beginChat({ authorization: `Bearer ${secret}` });
      await chat.sendHalf();
      // When the broker answers this request, it has also read the credential of the earlier one.
      expect((await fetch(`${service.baseUrl}/models`, { headers: bearer(secret) })).status).toBe(200);
      await service.pool.query('update api_keys set revoked_at = now(), generation = generation + 1 where hash = $1', [
        hashSecret(secret),
      ]);
      const isKnown = async () =>
        (await fetch(`${service.baseUrl}/models`, { headers: bearer(secret) })).status === 200;
      await until(async () => !(await isKnown()), 'the broker knows that the key was revoked');
      expect(await chat.sendRest()).toBe(401);
      expect(await service.settled(account)).toBe(before);
    });

    it('with one ticket are served once, even if several began before it was used', async () => {
      const { ticket } = await stage.service.mintTicket(account.inferenceKey, { model });
      const chats = Array.from({ length: 4 }, () => beginChat({ 'x-router-ticket': ticket }));
      await Promise.all(chats.map(({ sendHalf }) => sendHalf()));
      await expectAlive(stage, account, model);
      const statuses = await Promise.all(chats.map(({ sendRest }) => sendRest()));
      expect(statuses.sort()).toEqual([200, 401, 401, 401]);
    });

    it('without a credential leave room at control for keys at the same address', async () => {
      const large = JSON.stringify({ model }).padEnd(200 * kib);
      const mint = async (headers: Record<string, string>): Promise<number> => {
        const url = `${control.url}${control.post}`;
        const sent = { ...headers, 'content-type': 'application/json' };
        const answer = await fetch(url, { method: 'POST', headers: sent, body: large });
        await answer.body?.cancel();
        return answer.status;
      };
      const piece = Buffer.alloc(control.bodyLimit - 2, 0x20);
      const addBodies = async (count: number): Promise<void> => {
        await begin(control, '', count);
        for (const socket of opened.slice(-count)) socket.write(piece);
      };
      // An address may hold 16 MiB, which is sixty-four bodies of the largest size. A body is rejected, and gives its
      // bytes back, if the address is full before the body has arrived. So this adds bodies until there is no room left.
      await addBodies(64);
      const isFull = async () => {
        if ((await mint({})) === 503) return true;
        await addBodies(1);
        return false;
      };
      await until(isFull, 'the address has all that it may have');
      expect(await mint(bearer(account.inferenceKey))).toBe(200);
    });

    it('of one key leave room for other keys and tickets at the same address', async () => {
      const other = await stage.service.createAccount();
      const { ticket } = await stage.service.mintTicket(other.inferenceKey, { model });
      const texts = await begin(broker, key(account.inferenceKey));
      // The bodies are half a gigabyte together, which exceeds the limit of one key.
      const piece = Buffer.alloc(1024 * kib, 0x20);
      for (let sent = 0; sent < 31; sent += 1) {
        await Promise.all(
          opened.map((socket) =>
            socket.destroyed ? undefined : new Promise((resolve) => socket.write(piece, resolve)),
          ),
        );
      }
      await until(() => texts.some((text) => text.startsWith('HTTP/1.1 503')), 'the key has all that it may have');
      expect(await sendLarge(other.inferenceKey)).toBe(200);
      const chat = beginChat({ 'x-router-ticket': ticket });
      await chat.sendHalf();
      expect(await chat.sendRest()).toBe(200);
      await until(() => opened.every(({ destroyed }) => destroyed), 'all of them are given up', 30_000);
      expect(await sendLarge()).toBe(200);
    }, 90_000);
  },
};
