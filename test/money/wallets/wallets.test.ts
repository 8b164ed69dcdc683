import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { capabilitiesAnswerSchema } from '@sotto/contract/control/catalog';
import { walletOrderSchema } from '@sotto/contract/control/wallets';
import { creditIssuerSchema } from '@sotto/wire';
import { afterAll, describe, expect, it } from 'vitest';
import { btcpayEnvironment, btcpaySignature, startBtcpay } from '../../kit/btcpay-stand-in.ts';
import { bearer } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { peopleOf } from '../../kit/people.ts';
import { startRelay } from '../../kit/relay.ts';
import { runSottoOverPlainRelay, type SottoRun } from '../../kit/run-sotto.ts';
import { get, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import {
  endLeases,
  expectSound,
  issuerName,
  letRest,
  makeCode,
  makeHome,
  makeIssuer,
  payingPerson,
} from '../../kit/wallets.ts';
import { interoperability } from './interoperability.suite.ts';
import { killedAgent } from './killed-agent.suite.ts';
import { memoryOf } from './memory-of.ts';

const routes = [
  ['GET', '/credits'],
  ['POST', '/credits/codes'],
  ['GET', '/credits/codes'],
  ['DELETE', '/credits/codes'],
  ['POST', '/credits'],
  ['POST', '/wallets'],
  ['POST', '/wallets/close'],
] as const;
const endOf = async (run: SottoRun) => ({ code: await run.ended, out: run.out(), err: run.err() });

await describeStage(
  'anonymous wallets',
  async () => {
    const [issuer, relay, btcpay] = await Promise.all([makeIssuer(), startRelay(), startBtcpay()]);
    return {
      ...oneModel,
      models: { ...oneModel.models, 'm/dear': { routes: { alpha: [5000, 5000] } } },
      standIns: { issuer, relay, btcpay },
      environment: {
        ...{ BILLING_TEST_RAIL: 'on', ATTESTATION: 'simulated', ...issuer.environment },
        ...btcpayEnvironment(btcpay),
      },
      stop: () => Promise.all([issuer.stop(), relay.stop(), btcpay.server.stop()]),
    };
  },
  (stage) => {
    const runs: SottoRun[] = [];
    afterAll(() => {
      for (const { child } of runs) child.kill('SIGKILL');
    });
    const url = (path: string): string => `${stage.service.controlUrl}${path}`;
    const relayed = () => [
      ...['--control-url', stage.service.controlUrl],
      ...['--relay', `socks5://127.0.0.1:${stage.standIns.relay.port}`],
    ];
    const pinned = (pins = stage.standIns.issuer.pins) => ['--pins', pins];
    const run = (home: string, args: readonly string[], environment: Record<string, string> = {}): SottoRun => {
      const own = runSottoOverPlainRelay(args, { HOME: home, ...environment }, home);
      runs.push(own);
      return own;
    };
    const purse = (home: string, ...args: string[]) => run(home, ['purse', ...args, ...relayed(), ...pinned()]);
    const balance = (home: string) => run(home, ['purse']);
    const buy = async (home: string, code: string, own = purse(home, 'buy')) => {
      own.child.stdin?.end(`${code}\n`);
      return endOf(own);
    };
    const anonymously = (home: string) =>
      run(home, [
        ...['proxy', '--anonymous', '--port', '0', '--base-url', stage.service.baseUrl, '--allow-simulated'],
        ...[...relayed(), ...pinned()],
      ]);
    /** Starts the anonymous proxy, and asks it once. */
    const proxyThatServed = async (home: string): Promise<SottoRun> => {
      const proxy = anonymously(home);
      const [, origin = '', token = ''] = await proxy.outMatches(/(http:\S+)\nAPI key: (\S+)\n/);
      const asked = { model: 'm/one', messages: [{ role: 'user', content: 'Hello' }] };
      expect((await post(`${origin}/chat/completions`, asked, bearer(token))).status).toBe(200);
      return proxy;
    };

    it('buys credits, asks through the relay without an account, and gets the change back', async () => {
      const { service, standIns } = stage;
      const person = await payingPerson(service);
      const { home, purse: file } = await makeHome(standIns.issuer, 'main');
      for (let batch = 0; batch < 2; batch += 1) {
        const bought = await buy(home, (await makeCode(service, person.session)).toLowerCase());
        expect(bought, bought.err).toMatchObject({ code: 0, out: expect.stringContaining(`${(batch + 1) * 50} ($`) });
      }
      const paid = await service.pool.query('select balance_nusd from accounts where id = $1', [person.accountId]);
      expect(paid.rows).toEqual([{ balance_nusd: '0' }]);
      const early = await endOf(anonymously(home));
      expect(early).toMatchObject({ code: 1, err: expect.stringContaining('0 are ready and 100 are resting') });
      letRest(file);

      const asked = standIns.relay.asked.length;
      const proxy = await proxyThatServed(home);
      proxy.child.kill('SIGINT');
      const ended = await endOf(proxy);
      expect(ended.code, ended.err).toBe(0);
      expect(ended.err).not.toContain('not closed');
      // Evidence and content, tickets and models, the deposit and the closing: each over the relay.
      expect(standIns.relay.asked.slice(asked).length).toBeGreaterThanOrEqual(4);
      expect((await endOf(balance(home))).out).toMatch(/^50 credits \(\$5\.00\) are ready, (49|50) /);
      const { rows } = await service.pool.query(
        'select a.user_id, a.balance_nusd from wallets w join accounts a on a.id = w.account_id where w.closed_by is not null',
      );
      expect(rows).toEqual([{ user_id: null, balance_nusd: '0' }]);
      await expectSound(service);
    });

    it('pays a wallet by crypto without an account, a page or a credit, and gets the change as credits', async () => {
      const { service, standIns } = stage;
      const { home, purse: file } = await makeHome(standIns.issuer, 'crypto');
      const refused = await endOf(purse(home, 'pay', 'none'));
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('`package_id` must be `usd-10`') });
      const asked = standIns.relay.asked.length;
      const paying = purse(home, 'pay', 'usd-10');
      await paying.outMatches(/lightning:lnbc1\S+\n.*Lightning/s);
      const [invoice] = standIns.btcpay.invoices;
      if (invoice === undefined) throw new Error('no invoice');
      expect(paying.out()).toContain('Pay 10.5 USD for a wallet of 10 USD');
      expect(paying.out()).toContain(
        `BTC-CHAIN: 0.00010500 BTC to bc1q${invoice.id}\nbitcoin:bc1q${invoice.id}?amount=`,
      );
      expect(invoice).toMatchObject({ amount: '10.50', checkout: { monitoringMinutes: 1440 } });
      expect(invoice.checkout).not.toHaveProperty('redirectURL');
      const made = () => service.pool.query('select from wallets where deposit_digest is null');
      expect((await made()).rowCount).toBe(0);
      // Killed while it waits: the key is in the purse.
      paying.child.kill('SIGKILL');
      await paying.ended;
      endLeases(file);
      expect((await endOf(purse(home, 'settle'))).out).toContain(`to bc1q${invoice.id}\n`);
      Object.assign(invoice, { status: 'Settled', payments: ['Settled'] });
      const body = JSON.stringify(standIns.btcpay.delivery(invoice, 'InvoiceSettled'));
      const told = () => post(url('/billing/webhooks/btcpay'), body, { 'btcpay-sig': btcpaySignature(body) });
      const settled = () => endOf(purse(home, 'settle'));
      await Promise.all([told(), settled(), told(), settled()]);
      expect((await settled()).code).toBe(0);
      expect((await endOf(balance(home))).out).toContain('1 paid wallets are there');
      expect((await made()).rowCount).toBe(1);

      const proxy = await proxyThatServed(home);
      // As a terminal that closes.
      proxy.child.kill('SIGHUP');
      await until(() => proxy.err().includes('Stopping.'), 'the proxy stops');
      proxy.child.kill('SIGHUP');
      const ended = await endOf(proxy);
      expect(ended.err).toMatch(/The wallet is closed: (99|100) credits/);
      const database = new DatabaseSync(file);
      expect(database.prepare('select count(*) as count from wallets').get()).toEqual({ count: 0 });
      database.close();
      expect(standIns.relay.asked.length - asked).toBeGreaterThanOrEqual(8);
      await expectSound(service);
    });

    it('killed between the row of an order and BTCPay’s answer, goes on with the one invoice that was made', async () => {
      const { service, standIns } = stage;
      const { server, invoices } = standIns.btcpay;
      const before = invoices.length;
      const body = { package_id: 'usd-10', key_hash: 'k'.repeat(43), close_hash: 'c'.repeat(43) };
      server.trouble = 'answers_are_lost';
      const carriedOut = server.carriedOut('/invoices');
      const placing = post(url('/wallets'), body).catch(() => undefined);
      await carriedOut;
      await service.control.kill9();
      await placing;
      server.trouble = undefined;
      await service.control.restart();
      const created = await post(url('/wallets'), body);
      expect([created.status, created.json]).toEqual([202, expect.objectContaining({ status: 'created', pay_to: [] })]);
      expectError(await post(url('/wallets'), { ...body, close_hash: 'd'.repeat(43) }), 409, 'conflict');
      await service.pool.query('update orders set next_check_at = now() where wallet_key_hash = $1', [body.key_hash]);
      const order = async () => walletOrderSchema.parse((await post(url('/wallets'), body)).json);
      await until(async () => (await order()).status === 'pending', 'the order is open');
      expect(invoices.slice(before).map(({ id }) => `bc1q${id}`)).toEqual([(await order()).pay_to[0]?.destination]);
    });

    it('survives a killed run and a lost network: nothing is lost, and nothing goes past the relay', async () => {
      const { service, standIns } = stage;
      const person = await payingPerson(service);
      const { home, purse: file } = await makeHome(standIns.issuer, 'killed');
      expect((await buy(home, await makeCode(service, person.session))).code).toBe(0);
      letRest(file);
      const proxy = await proxyThatServed(home);
      proxy.child.kill('SIGKILL');
      await proxy.ended;
      expect((await endOf(balance(home))).out).toContain('1 wallets of 50 credits ($5.00) are in use, or');
      endLeases(file);
      expect((await endOf(balance(home))).out).toContain('1 wallets of 50 credits ($5.00) are not closed');
      await until(async () => (await endOf(purse(home, 'settle'))).code === 0, 'the wallet is closed');
      expect((await endOf(balance(home))).out).toMatch(/^0 credits .* (49|50) \(\$/);

      // With a relay that is gone, every step is an error, and control hears nothing.
      letRest(file);
      const heard = () => service.logs().split('/v1/credits').length + service.logs().split('/v1/wallets').length;
      const before = heard();
      const gone = ['--control-url', service.controlUrl, '--relay', 'socks5://127.0.0.1:1', ...pinned()];
      expect((await buy(home, 'AAAA-AAAA-AAAA-AAAA', run(home, ['purse', 'buy', ...gone]))).err).toContain(
        'control_unreachable',
      );
      const alone = run(home, ['proxy', '--anonymous', '--base-url', service.baseUrl, '--allow-simulated', ...gone]);
      expect((await endOf(alone)).code).toBe(3);
      // What is wrong with the command line is said before a wallet is taken.
      const open = ['proxy', '--anonymous', '--base-url', service.baseUrl, ...relayed(), ...pinned()];
      for (const wrong of [
        ['--require', 'verified'],
        ['--map', 'none'],
      ])
        expect((await endOf(run(home, [...open, ...wrong]))).code).toBe(2);
      expect((await endOf(balance(home))).out).not.toContain('wallets of');
      expect(heard()).toBe(before);
      // The made-up code was written down before it was sent. It is used once more, refused, and forgotten.
      expect(await endOf(purse(home, 'buy'))).toMatchObject({
        code: 1,
        err: expect.stringContaining('expired or revoked'),
      });
      expect((await endOf(purse(home, 'settle'))).code).toBe(0);
    });

    // Killed at any moment: between the secrets and the request, the signatures and the answer, and within the transaction of both files. The
    // service and the two files must agree afterwards: as many lots are paid as the purse has, and the code permits as many fewer.
    it('buys by schedule, and after kill -9 at random moments has each lot that was paid, with two controls', async () => {
      const { service, standIns } = stage;
      const person = await payingPerson(service);
      const order = { package_id: 'usd-25', rail: 'test' };
      expect((await post(url('/billing/orders'), order, person.session)).status).toBe(201);
      const { home, purse: file } = await makeHome(standIns.issuer, 'scheduled');
      const code = await makeCode(service, person.session, 9);
      const { controlUrl } = await service.addControl();
      const left = async () =>
        (await get(url('/credits/codes'), person.session)).json as { permission: { lots: number } };
      const paid = async () => 9 - (await left()).permission.lots;
      for (let killed = 0; (await paid()) < 5; killed += 1) {
        const other = ['--control-url', controlUrl, ...relayed().slice(2), ...pinned()];
        const own = killed % 2 === 0 ? purse(home, 'buy') : run(home, ['purse', 'buy', ...other]);
        own.child.stdin?.end(`${code}\n`);
        await own.outMatches(/about \$65 a month/);
        await new Promise((resolve) => setTimeout(resolve, 30 * killed));
        own.child.kill('SIGKILL');
        await own.ended;
      }
      const last = purse(home, 'buy');
      const credits = (): number => {
        const database = new DatabaseSync(file, { timeout: 10_000 });
        const { count } = database.prepare('select count(*) as count from credits').get() as { count: number };
        database.close();
        return count;
      };
      await until(() => credits() === 250, 'the purse has all that was paid');
      expect(await paid()).toBe(5);
      last.child.kill('SIGKILL');
      const { rows } = await service.pool.query('select balance_nusd from accounts where id = $1', [person.accountId]);
      expect(rows).toEqual([{ balance_nusd: '10000000000' }]);
      // A purse that is stolen now has nothing that the service has seen beside the account.
      expect(readFileSync(file).includes(code)).toBe(false);
      expect((await endOf(balance(home))).out).toMatch(/^0 credits .* 250 \(\$25\.00\) are resting/);
      letRest(file);
      const proxy = await proxyThatServed(home);
      proxy.child.kill('SIGINT');
      expect((await endOf(proxy)).err).toMatch(/The wallet is closed: (49|50) credits/);
      // The permission is revoked: nothing more is bought.
      expect((await send('DELETE', url('/credits/codes'), { headers: person.session })).status).toBe(204);
      expect((await left()).permission).toBeNull();
      await expectSound(service);
    });

    it('closes the wallet of a command that cannot go on, and says how many credits came back', async () => {
      const { service, standIns } = stage;
      const person = await payingPerson(service);
      const { home, purse: file } = await makeHome(standIns.issuer, 'agent');
      expect((await buy(home, await makeCode(service, person.session))).code).toBe(0);
      letRest(file);
      const taken = ['--port', `${standIns.relay.port}`, '--base-url', service.baseUrl, '--allow-simulated'];
      expect(await endOf(run(home, ['proxy', '--anonymous', ...taken, ...relayed(), ...pinned()]))).toMatchObject({
        code: 2,
        err: expect.stringMatching(/The wallet is closed: 50 credits.*Cannot listen on port/s),
      });
      letRest(file);
      const homeless = ['run', 'claude', '--anonymous', '--base-url', service.baseUrl, '--allow-simulated'];
      const nowhere = { TMPDIR: join(home, 'nowhere') };
      expect((await endOf(run(home, [...homeless, ...relayed(), ...pinned()], nowhere))).err).toMatch(
        /The wallet is closed: 50 credits/,
      );
      await expectSound(service);
    });

    it('refuses to run beside a key of the account, and without a relay that isolates', async () => {
      const { home } = await makeHome(stage.standIns.issuer, 'refused');
      const args = ['proxy', '--anonymous', '--base-url', stage.service.baseUrl, ...pinned()];
      for (const [more, environment, why] of [
        [relayed(), { INFERENCE_KEY: 'x' }, 'refuses INFERENCE_KEY'],
        [relayed(), { MANAGEMENT_KEY: 'x' }, 'refuses MANAGEMENT_KEY'],
        [[...relayed(), '--key-file', '/none'], {}, 'refuses --key-file'],
        [['--control-url', stage.service.controlUrl], {}, '--relay is missing'],
        [['--control-url', stage.service.controlUrl, '--relay', 'http://127.0.0.1:1'], {}, 'must be socks5'],
        [['--control-url', stage.service.controlUrl, '--relay', 'socks5://me:x@127.0.0.1:1'], {}, 'must be socks5'],
      ] as const) {
        expect(await endOf(run(home, [...args, ...more], environment))).toMatchObject({
          code: 2,
          err: expect.stringContaining(why),
        });
      }
    });

    it('a planted issuer key gets no money: the client offers its batch to the pinned key alone', async () => {
      const { service, standIns } = stage;
      const person = await payingPerson(service);
      const { home } = await makeHome(standIns.issuer, 'planted');
      const code = await makeCode(service, person.session);
      const own = run(home, ['purse', 'buy', ...relayed(), ...pinned(standIns.issuer.otherPins)]);
      expect(await buy(home, code, own)).toMatchObject({ code: 1, err: expect.stringContaining('key_id') });
      const { rows } = await service.pool.query('select balance_nusd from accounts where id = $1', [person.accountId]);
      expect(rows).toEqual([{ balance_nusd: '10000000000' }]);
      expect((await endOf(run(home, ['purse', 'key', ...pinned()]))).out).toContain(`${issuerName}\n`);
    });

    it('the account’s key is not in the memory of the anonymous process', async () => {
      if (process.platform !== 'linux') return;
      const { service, standIns } = stage;
      const account = await service.createAccount();
      const person = await payingPerson(service);
      const { home, purse: file } = await makeHome(standIns.issuer, 'memory');
      // The files that a person has lying around.
      for (const name of ['.sotto-key', '.env'])
        await writeFile(join(home, name), `INFERENCE_KEY=${account.inferenceKey}\n`);
      expect((await buy(home, await makeCode(service, person.session))).code).toBe(0);
      letRest(file);
      const proxy = await proxyThatServed(home);
      const database = new DatabaseSync(file);
      const { key } = database.prepare('select key from wallets').get() as { key: string };
      database.close();
      const memory = memoryOf(proxy.child.pid ?? 0);
      expect(
        memory.some((part) => part.includes(key)),
        'the search finds the wallet’s own key',
      ).toBe(true);
      expect(memory.some((part) => part.includes(account.inferenceKey))).toBe(false);
      proxy.child.kill('SIGINT');
      await proxy.ended;
    });

    interoperability(stage, buy);
    killedAgent(stage);

    it('a code needs a sign-in of the last minutes, and works once', async () => {
      const { service, standIns } = stage;
      const person = await payingPerson(service);
      expectError(await post(url('/credits/codes'), { lots: 1 }), 401, 'unauthenticated');
      await service.pool.query(
        "update auth_session set created_at = created_at - interval '6 minutes' where user_id = (select user_id from accounts where id = $1)",
        [person.accountId],
      );
      expectError(await post(url('/credits/codes'), { lots: 1 }, person.session), 403, 'session_not_fresh');
      const again = await peopleOf(stage).signIn(person);
      const code = await makeCode(service, again);
      const { rows } = await service.pool.query<{ row: string }>('select c::text as row from credit_codes c');
      expect(rows.some(({ row }) => row.includes(code))).toBe(false);
      const { home } = await makeHome(standIns.issuer, 'once');
      expect((await buy(home, code)).code).toBe(0);
      expect(await buy(home, code)).toMatchObject({ code: 1, err: expect.stringContaining('expired or revoked') });
      const pinned = creditIssuerSchema.parse((await get(url('/credits'))).json);
      expect(capabilitiesAnswerSchema.parse((await get(url('/capabilities'))).json).anonymous_wallets.enabled).toBe(
        true,
      );
      expect(pinned).toEqual(JSON.parse(readFileSync(standIns.issuer.pins, 'utf8')).credits);
    });
  },
);

await describeStage('anonymous wallets, off by default,', oneModel, (stage) => {
  describe('are not there', () => {
    it('every address is 404, whoever asks', async () => {
      const person = await peopleOf(stage).signUp();
      for (const [method, path] of routes) {
        for (const headers of [{}, person.session]) {
          const body = method === 'POST' ? { body: {} } : {};
          expectError(await send(method, `${stage.service.controlUrl}${path}`, { headers, ...body }), 404, 'not_found');
        }
      }
      const { json } = await get(`${stage.service.controlUrl}/capabilities`);
      expect(capabilitiesAnswerSchema.parse(json).anonymous_wallets).toEqual({ enabled: false });
    });
  });
});
