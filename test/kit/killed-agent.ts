import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Random } from './random.ts';
import type { TestRelay } from './relay.ts';
import { runSottoOverPlainRelay, type SottoRun } from './run-sotto.ts';
import { post } from './send.ts';
import { type Service, until } from './service.ts';
import { endLeases, expectSound, letRest, makeCode, makeHome, payingPerson, type TestIssuer } from './wallets.ts';

export interface KilledAgent {
  readonly service: Service;
  readonly issuer: TestIssuer;
  readonly relay: TestRelay;
  /** Returns the number of requests that providers have seen. */
  readonly seen: () => number;
  readonly model: string;
  /** Makes what the agent works on, and returns its arguments and variables. */
  readonly prepare: (home: string) => Promise<{
    readonly args: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  }>;
  readonly seed: number;
  readonly kills: number;
}

const noted = new URL('./mains/noted-connections.ts', import.meta.url).href;
const lots = 6;
const lotNusd = 5_000_000_000n;

/**
 * Has a purse buy lots by schedule, and runs `claude` with it by `sotto run --anonymous`, with kill -9 at moments that the seed draws: of
 * the purchases, of the runs and of what closes their wallets. Expects that the purse then has what was bought less what was charged,
 * that the ledger agrees, and that every connection was to the relay. Returns what the last run, which nobody killed, printed.
 */
export async function expectRightAfterKills({ service, issuer, relay, seen, model, ...given }: KilledAgent) {
  const random = new Random(given.seed);
  const person = await payingPerson(service);
  const order = { package_id: 'usd-25', rail: 'test' };
  expect((await post(`${service.controlUrl}/billing/orders`, order, person.session)).status).toBe(201);
  const { home, purse } = await makeHome(issuer, `killed-${given.seed}`);
  const connections = join(home, 'connections');
  const sotto = (args: readonly string[], more: readonly string[] = [], environment = {}): SottoRun => {
    const at = ['--control-url', service.controlUrl, '--relay', `socks5://127.0.0.1:${relay.port}`];
    const variables = { HOME: home, NODE_OPTIONS: `--import=${noted}`, TEST_CONNECTIONS: connections };
    return runSottoOverPlainRelay(
      [...args, ...at, '--pins', issuer.pins, ...more],
      { ...variables, ...environment },
      home,
    );
  };
  const killSoon = async (own: SottoRun, most: number): Promise<void> => {
    const moments = (): number => relay.asked.length + seen();
    const last = moments() + random.below(most);
    let isOver = false;
    void own.ended.then(() => {
      isOver = true;
    });
    await until(
      () => isOver || moments() > last,
      () => `the command goes on: ${own.err()}`,
    );
    await sleep(random.below(20));
    own.child.kill('SIGKILL');
    await own.ended;
  };
  const query = <Row>(file: string, sql: string): Row => {
    const database = new DatabaseSync(file, { timeout: 10_000 });
    const row = database.prepare(sql).get() as Row;
    database.close();
    return row;
  };
  const countOf = (rows: string): number =>
    query<{ count: number }>(purse, `select count(*) as count from ${rows}`).count;
  const credits = (): number => countOf('credits where wallet is null and aside = 0');
  const wallets = (): number => countOf('wallets');
  const before = await sums(service, person.accountId);
  const askedBefore = relay.asked.length;

  const code = await makeCode(service, person.session, lots);
  const buy = (): SottoRun => {
    const own = sotto(['purse', 'buy', '--lots-a-week', '1']);
    own.child.stdin?.end(`${code}\n`);
    return own;
  };
  await killSoon(buy(), lots);
  const first = buy();
  await until(
    () => credits() === 50 * (lots - 1),
    () => `the first lots are there: ${first.err()}`,
  );
  first.child.kill('SIGKILL');
  await first.ended;
  query(join(home, '.sotto', 'schedule'), `update lots set at = ${Date.now()} returning id`);
  const last = buy();
  expect(await last.ended, last.err()).toBe(0);
  expect(credits()).toBe(50 * lots);

  const { args, environment } = await given.prepare(home);
  const run = (): SottoRun => {
    letRest(purse);
    endLeases(purse);
    const at = ['--anonymous', '--model', model, '--base-url', service.baseUrl, '--allow-simulated'];
    return sotto(['run', 'claude', ...at], args, environment);
  };
  const settle = (): SottoRun => {
    endLeases(purse);
    return sotto(['purse', 'settle']);
  };
  const settled = (): Promise<void> =>
    until(async () => (await settle().ended) === 0 && wallets() === 0, 'all wallets are closed');
  for (let killed = 0; killed < given.kills; killed += 1) {
    await killSoon(run(), 12);
    await killSoon(settle(), 3);
    if (credits() < 50) await settled();
  }
  await settled();
  const whole = run();
  expect(await whole.ended, `${whole.out()}\n${whole.err()}`).toBe(0);
  await settled();

  const after = await sums(service, person.accountId);
  const grew = (name: keyof typeof before): bigint => after[name] - before[name];
  const left = BigInt(credits()) * (lotNusd / 50n);
  expect(-grew('account')).toBe(BigInt(lots) * lotNusd);
  expect(grew('revenue')).toBeGreaterThan(0n);
  // Closing a wallet rounds what is left to whole credits.
  expect(left).toBe(-grew('account') - grew('revenue') - grew('rounding'));
  expect(left).toBe(grew('credits'));
  await expectSound(service);

  const opened = readFileSync(connections, 'utf8').split('\n');
  expect(opened).toContain(`127.0.0.1:${relay.port}`);
  const origins = [service.controlUrl, service.baseUrl].map((url) => new URL(url).host);
  expect(opened.filter((to) => origins.includes(to))).toEqual([]);
  expect(relay.asked.slice(askedBefore).filter((to) => !origins.includes(to))).toEqual([]);
  return { out: whole.out(), err: whole.err() };
}

/** The sums of the ledger that the equation has, in nano-USD: of the account, of all credits that nobody has deposited, and of what left. */
async function sums(service: Service, accountId: string) {
  const { rows } = await service.pool.query<Record<'account' | 'credits' | 'revenue' | 'rounding', string>>(
    `select coalesce(sum(amount_nusd) filter (where ledger_account = 'wallet:' || $1), 0)::text as account,
       coalesce(sum(amount_nusd) filter (where ledger_account like 'credits:%'), 0)::text as credits,
       coalesce(sum(amount_nusd) filter (where ledger_account = 'revenue'), 0)::text as revenue,
       coalesce(sum(amount_nusd) filter (where ledger_account = 'rounding'), 0)::text as rounding
     from ledger_entries`,
    [accountId],
  );
  const { account = '0', credits = '0', revenue = '0', rounding = '0' } = rows[0] ?? {};
  return {
    account: BigInt(account),
    credits: BigInt(credits),
    revenue: BigInt(revenue),
    rounding: BigInt(rounding),
  };
}
