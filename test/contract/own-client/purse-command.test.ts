import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { startRelay } from '../../kit/relay.ts';
import { runSotto, runSottoOverPlainRelay } from '../../kit/run-sotto.ts';
import { makeIssuer } from '../../kit/wallets.ts';
import { CommandStage } from './stages.ts';
import { json, refusal } from './stand-in.ts';

const stage = new CommandStage();

describe('sotto purse', () => {
  const purse = async (home: string, ...args: string[]) => {
    const own = runSotto(['purse', ...args], { HOME: home }, home);
    return { code: await own.ended, out: own.out(), err: own.err() };
  };
  const newHome = () => mkdtemp(join(stage.folder, 'home-'));

  it('names the file that the system or SQLite refuses', async () => {
    const home = await newHome();
    await writeFile(join(home, 'notes.txt'), 'Not a database, but text.', { mode: 0o600 });
    expect(await purse(home, 'back-up', 'copy')).toMatchObject({ code: 0, err: '' });
    const twice = { code: 1, out: '', err: 'copy cannot be used: file already exists.\n' };
    expect(await purse(home, 'back-up', 'copy')).toEqual(twice);
    expect((await purse(home, 'back-up', 'none/copy')).err).toBe(
      'none/copy cannot be used: no such file or directory.\n',
    );
    const text = { code: 1, out: '', err: 'notes.txt cannot be used: file is not a database.\n' };
    expect(await purse(home, '--purse', 'notes.txt')).toEqual(text);
    expect((await purse(home, '--purse', 'notes.txt/purse')).err).toBe(
      'notes.txt cannot be used: file already exists.\n',
    );
    // What SQLite finds after the purse is open.
    const database = new DatabaseSync(join(home, 'copy'));
    database.exec('alter table credits drop column aside');
    database.close();
    const damaged = await purse(home, '--purse', 'copy');
    expect(damaged).toMatchObject({ code: 1, err: 'The purse cannot be used: no such column: aside.\n' });
  });

  it('changes no file of another program', async () => {
    const home = await newHome();
    const database = new DatabaseSync(join(home, 'other'));
    database.exec('pragma journal_mode = wal; create table credits (id integer primary key)');
    database.close();
    await chmod(join(home, 'other'), 0o600);
    await writeFile(join(home, 'empty'), '', { mode: 0o600 });
    const before = await readFile(join(home, 'other'));
    const refused = { code: 1, out: '', err: 'other is not a purse.\n' };
    expect(await purse(home, 'restore', 'other')).toEqual(refused);
    expect(await purse(home, '--purse', 'other')).toEqual(refused);
    expect((await readFile(join(home, 'other'))).equals(before)).toBe(true);
    expect((await purse(home, 'restore', 'empty')).err).toMatch(/^empty is empty\.\n/);
    expect(await readFile(join(home, 'empty'), 'utf8')).toBe('');
    expect(existsSync(join(home, '.sotto'))).toBe(false);
  });

  // One process looks at the tables while another one makes them: it finds none or all, and refuses neither.
  it('lets several commands make one purse at once', async () => {
    const home = await newHome();
    const ends = await Promise.all([purse(home), purse(home), purse(home)]);
    expect(ends.map(({ code, err }) => [code, err])).toEqual([
      [0, ''],
      [0, ''],
      [0, ''],
    ]);
  });

  it.each<[string[], RegExp]>([
    [['balanse'], /^Write one of balance, buy, .* after `sotto purse`\.\n/],
    [['--lots-a-week', '3'], /^`sotto purse balance` does not take --lots-a-week\.\n/],
    [['settle', '--schedule', 'schedule'], /^`sotto purse settle` does not take --schedule\.\n/],
    [['back-up', 'copy', '--relay', 'x'], /^`sotto purse back-up` does not take --relay\.\n/],
    [['back-up', 'copy', 'another'], /^Pass one FILE; "another" is a second one\.\n/],
    [['pay'], /^PACKAGE is missing\./],
    [['reuse', 'all'], /^"all" is not an option\.\n/],
  ])('refuses what a step does not know, and creates no purse: %s', async (args, message) => {
    const home = await newHome();
    expect(await purse(home, ...args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(message) });
    expect(existsSync(join(home, '.sotto'))).toBe(false);
  });

  it('creates no purse for a number of lots that is none', async () => {
    const [home, issuer] = await Promise.all([newHome(), makeIssuer()]);
    const where = [
      '--control-url',
      'https://control.example',
      '--relay',
      'socks5://127.0.0.1:9',
      '--pins',
      issuer.pins,
    ];
    const refused = await purse(home, 'buy', '--lots-a-week', 'many', ...where);
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/^--lots-a-week must be .*, not many\.\n/) });
    expect(existsSync(join(home, '.sotto'))).toBe(false);
    await issuer.stop();
  });
});

describe('sotto purse pay', () => {
  it('ends when the service refuses an order for good that it said where to pay', async () => {
    const [issuer, relay] = await Promise.all([makeIssuer(), startRelay()]);
    const order = {
      ...{ id: '5f0c7a9e-93a5-4d9c-8a6b-0d6f1f6c8a10', status: 'pending', package_id: 'usd-10', rail: 'crypto' },
      ...{ currency: 'USD', amount: 10, fee: 0.5, total: 10.5, refunded: 0, automatic: false, problem: null },
      ...{ receipt_number: null, created_at: '2026-11-15T12:00:00Z', expires_at: '2026-11-15T13:00:00Z' },
      paid_at: null,
      pay_to: [{ method: 'BTC-CHAIN', currency: 'BTC', amount: '0.0001', destination: 'bc1qdue', link: null }],
    };
    let asked = 0;
    stage.service.onControl((_, response) => {
      asked += 1;
      if (asked === 1) json(response, 202, order);
      else json(response, 404, refusal('not_found'));
    });
    const where = ['--control-url', stage.service.controlUrl, '--relay', `socks5://127.0.0.1:${relay.port}`];
    const own = ['--pins', issuer.pins, '--purse', join(stage.folder, 'purse')];
    const args = ['purse', 'pay', 'usd-10', ...where, ...own];
    const refused = runSotto(args);
    expect(await refused.ended).toBe(2);
    expect(refused.err()).toContain('`relay` cannot carry http://');
    expect(asked).toBe(0);
    const paying = runSottoOverPlainRelay(args);
    expect(await paying.ended, paying.err()).toBe(1);
    expect(paying.out()).toContain('BTC-CHAIN: 0.0001 BTC to bc1qdue');
    expect(paying.err()).toMatch(/If you paid, run `sotto purse settle` later\.\nIt is not_found\.\n$/);
    expect(asked).toBe(2);
    await Promise.all([relay.stop(), issuer.stop()]);
  });
});
