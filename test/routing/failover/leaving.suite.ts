import { beforeAll, describe, expect, it } from 'vitest';
import { chargeOf, type UsageRow, usageRows } from '../../kit/books.ts';
import { ask, flows } from '../../kit/client.ts';
import { type OpenRequest, openRequest } from '../../kit/open-request.ts';
import { answerError, answerNothing } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import * as sse from '../../kit/scenes/events.ts';
import { everyWay } from '../../kit/scenes/ways.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { usualCost } from '../../kit/stage/usual-answer.ts';

const price = [1, 2] as const;
/**
 * The broker disconnects the provider within a few ms. This limit is far above that and far below the provider's own
 * time limits.
 */
const promptMs = 10_000;

export const leavingSuite: Suite = {
  name: 'a client that leaves',
  spec: {
    copies: 100,
    providers: { alpha: {}, beta: {}, gamma: {} },
    models: {
      pair: { routes: { alpha: price, beta: [3, 6] } },
      three: { routes: { alpha: price, beta: [3, 6], gamma: [4, 8] } },
    },
  },
  tests(stage) {
    let account: TestAccount;
    beforeAll(async () => {
      ({ account } = await createAccounts(stage.service, { account: {} }));
    });

    const opens = (body: Record<string, unknown>, flow: 'compatibility' | 'ticket' = 'compatibility') =>
      openRequest(stage.service, account, body, { flow });

    /** Leaves, and expects that the provider is disconnected in time and that no other provider is asked. */
    async function leaves(client: OpenRequest, id = 'alpha'): Promise<void> {
      const leftAt = performance.now();
      client.leave();
      await stage.provider(id).seen.at(-1)?.closed;
      expect(performance.now() - leftAt).toBeLessThan(promptMs);
      await client.ended;
    }

    const rowsOf = async (model: string): Promise<UsageRow[]> => {
      await stage.service.settled(account);
      return (await usageRows(stage.service, account)).filter((row) => row.model === model);
    };

    describe.each(everyWay)('$name', ({ flow, stream }) => {
      it('while the provider is silent: it is disconnected, no other follows, nothing is charged', async () => {
        stage.on('alpha', answerNothing);
        const charge = await chargeOf(stage.service, account, async () => {
          const client = await opens({ model: stage.model('pair'), stream }, flow);
          await until(() => stage.called.length === 1, 'the provider is asked');
          await leaves(client);
        });
        expect(charge).toBe(0n);
        expect(stage.called).toEqual(['alpha']);
      });

      it('is not held against the provider: it stays first', async () => {
        stage.on('alpha', answerNothing);
        const model = stage.model('pair');
        const client = await opens({ model, stream }, flow);
        await until(() => stage.called.length === 1, 'the provider is asked');
        await leaves(client);
        stage.reset();
        await ask(stage.service, account.inferenceKey, { model, stream }, { flow });
        expect(stage.called).toEqual(['alpha']);
      });

      it('while the provider has sent headers and no output: the same', async () => {
        let sent = false;
        stage.on('alpha', async (_request, response) => {
          if (stream) sse.openStream(response);
          else response.writeHead(200, { 'content-type': 'application/json' });
          await sse.send(response, stream ? sse.role : ' ');
          sent = true;
        });
        const charge = await chargeOf(stage.service, account, async () => {
          const client = await opens({ model: stage.model('pair'), stream }, flow);
          await until(() => sent, 'headers were sent');
          await leaves(client);
        });
        expect(charge).toBe(0n);
        expect(stage.called).toEqual(['alpha']);
      });

      it('while the second provider is working: no third attempt, nothing charged', async () => {
        stage.on('alpha', answerError(503));
        stage.on('beta', answerNothing);
        const charge = await chargeOf(stage.service, account, async () => {
          const client = await opens({ model: stage.model('three'), stream }, flow);
          await until(() => stage.called.length === 2, 'the second provider is asked');
          await leaves(client, 'beta');
        });
        expect(charge).toBe(0n);
        expect(stage.called).toEqual(['alpha', 'beta']);
      });

      it('just as an attempt fails: each started attempt is disconnected, and no new one starts', async () => {
        const before = await stage.service.settled(account);
        for (let round = 0; round < 8; round += 1) {
          stage.reset();
          let client: OpenRequest | undefined;
          stage.on('alpha', (request, response) => {
            // On even rounds the failure is sent first. On odd rounds the client leaves first.
            if (round % 2 === 0) answerError(503)(request, response);
            client?.leave();
            if (round % 2 === 1) answerError(503)(request, response);
          });
          stage.on('beta', answerNothing);
          client = await opens({ model: stage.model('three'), stream }, flow);
          await client.ended;
          for (const request of stage.provider('beta').seen) await request.closed;
          expect(await stage.service.settled(account)).toBe(before);
          expect(stage.called.length).toBeLessThanOrEqual(2);
        }
      });
    });

    describe.each(flows)('after the first output (%s)', (flow) => {
      it('chunk 1 of 200: the provider is disconnected if its usage does not come, and the output so far is paid', async () => {
        let written = 0;
        stage.on('alpha', async (request, response) => {
          sse.openStream(response);
          let gone = false;
          void request.closed.then(() => {
            gone = true;
          });
          for (; written < 200 && !gone; written += 1) {
            await sse.send(response, sse.text(`Word ${written} `));
            if (written === 0) await until(() => gone, 'the provider is let go');
          }
        });
        const model = stage.model('pair');
        const charge = await chargeOf(stage.service, account, async () => {
          const client = await opens({ model, stream: true }, flow);
          await until(() => client.received.includes('Word 0'), 'the first chunk is there');
          await leaves(client);
        });
        expect(written).toBeLessThan(200);
        expect(charge).toBeGreaterThan(0n);
        expect(charge).toBeLessThan(usualCost([10, 10]));
        const rows = await rowsOf(model);
        expect(rows).toHaveLength(1);
        expect(rows[0]).toMatchObject({ status: 'cancelled', estimated: true, cost: charge });
        expect(rows[0]?.completion_tokens).toBeGreaterThan(0);
        expect(rows[0]?.completion_tokens).toBeLessThan(10);
        expect(stage.called).toEqual(['alpha']);
      });

      it('everything, before the usage chunk: it is paid, never free', async () => {
        stage.on('alpha', async (_request, response) => {
          sse.openStream(response);
          await sse.send(response, sse.role + sse.text('All there is to say.'.repeat(20)) + sse.finish);
        });
        const model = stage.model('pair');
        const charge = await chargeOf(stage.service, account, async () => {
          const client = await opens({ model, stream: true, stream_options: { include_usage: true } }, flow);
          await until(() => client.received.includes('to say'), 'the text is there');
          await leaves(client);
        });
        expect(charge).toBeGreaterThan(0n);
        expect(await rowsOf(model)).toMatchObject([{ estimated: true }]);
      });

      it('everything, while the usage is on its way: the broker waits for it, and it is paid', async () => {
        stage.on('alpha', async (_request, response) => {
          sse.openStream(response);
          await sse.send(response, sse.role + sse.text('All there is to say.') + sse.finish);
          await client?.ended;
          // Long enough for the broker to notice that its client left, and well below its wait for usage.
          await new Promise((resolve) => setTimeout(resolve, 20));
          await sse.send(response, sse.usage + sse.done);
          response.end();
        });
        let client: OpenRequest | undefined;
        const model = stage.model('pair');
        const charge = await chargeOf(stage.service, account, async () => {
          client = await opens({ model, stream: true }, flow);
          await until(() => client?.received.includes('to say') === true, 'the text is there');
          await leaves(client);
        });
        expect(charge).toBe(usualCost(price));
        expect(await rowsOf(model)).toMatchObject([{ estimated: false }]);
      });

      it('after the provider sent its usage: that usage is paid', async () => {
        stage.on('alpha', async (_request, response) => {
          sse.openStream(response);
          await sse.send(response, sse.text('All there is to say.', { more: sse.usageOf(10, 20) }));
        });
        const model = stage.model('pair');
        const charge = await chargeOf(stage.service, account, async () => {
          const client = await opens({ model, stream: true }, flow);
          await until(() => client.received.includes('to say'), 'the text is there');
          await leaves(client);
        });
        expect(charge).toBe(usualCost(price));
        expect(await rowsOf(model)).toMatchObject([{ status: 'cancelled', estimated: false }]);
      });
    });

    it('fifty at once, each at another moment: all providers are disconnected, and each request is settled once', async () => {
      const model = stage.model('pair');
      stage.on('alpha', async (_request, response) => {
        sse.openStream(response);
        for (let count = 0; count < 200 && !response.destroyed; count += 1) {
          await sse.send(response, sse.text(`w${count} `));
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const client = await opens({ model, stream: true });
          await until(() => client.received.includes(`w${index % 5} `), 'it has begun');
          client.leave();
          await client.ended;
        }),
      );
      await Promise.all(stage.provider('alpha').seen.map(({ closed }) => closed));
      const rows = await rowsOf(model);
      expect(rows).toHaveLength(50);
      for (const { cost } of rows) expect(cost).toBeGreaterThan(0n);
    });
  },
};
