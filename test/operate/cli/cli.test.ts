import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { apiKeyKind, hashSecret } from '@sotto/state';
import { openTestPool, startTestPostgres, type TestPostgres } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { fromSource, programOf, type Ran, runToEnd } from '../../kit/programs.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let postgres: TestPostgres;
let databaseUrl: string;
const folder = useFolder('cli');

beforeAll(async () => {
  postgres = await startTestPostgres();
  databaseUrl = await postgres.createEmptyDatabase();
});
afterAll(async () => {
  await postgres.stop();
});

/** Runs `sotto-control` in a new process. */
function control(
  args: readonly string[],
  environment: Record<string, string> = { DATABASE_URL: databaseUrl },
): Promise<Ran> {
  const command = [...fromSource, programOf('apps/control/src/main.ts'), ...args];
  return runToEnd(process.execPath, command, root, environment);
}

describe('sotto-control', () => {
  it('prints its help, and the usage of a command', async () => {
    const help = await control([]);
    expect(help.code).toBe(0);
    for (const command of [
      'serve',
      'migrate',
      'catalog check',
      'catalog import',
      'account create',
      'account link',
      'account credit',
      'key create',
      'acts list [--search',
      'spend [--from',
    ]) {
      expect(help.out).toContain(`sotto-control ${command}`);
    }
    for (const unknown of ['dance', 'constructor']) expect(await control([unknown])).toMatchObject({ code: 2 });
    expect(await control(['key', 'create', '--nonsense'])).toMatchObject({
      code: 2,
      error: expect.stringMatching(/^sotto-control: Unknown option '--nonsense'\.\nusage: sotto-control key create/),
    });
  });

  it('names the missing variable', async () => {
    expect(await control(['migrate'], {})).toMatchObject({
      code: 1,
      error: expect.stringMatching(/DATABASE_URL is not set: it takes a URL/),
    });
    expect(await control(['serve'])).toMatchObject({
      code: 1,
      error: expect.stringMatching(/REDIS_URL is not set|_KEY is not set|SESSION_SECRET is not set/),
    });
  });

  it('creates an account with money and a key', async () => {
    expect(await control(['migrate'])).toMatchObject({ code: 0, out: 'the schema is up to date' });
    expect(await control(['migrate'])).toMatchObject({ code: 0 });
    const account = await control(['account', 'create', '--name', 'Ada']);
    expect(account.out).toMatch(/^[0-9a-f-]{36}$/);
    expect(await control(['account', 'credit', account.out, '12.5', '--reference', 'inv-1'])).toMatchObject({
      out: 'balance: 12.5 USD',
    });
    expect(await control(['account', 'credit', account.out, '12.5', '--reference', 'inv-1'])).toMatchObject({
      out: 'balance: 12.5 USD',
    });
    expect(
      await control(['account', 'credit', account.out.toUpperCase(), '0.000000001', '--reference', 'inv-2']),
    ).toMatchObject({ out: 'balance: 12.500000001 USD' });
    expect(await control(['account', 'credit', account.out, '1', '--reference', 'inv-1'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('the reference "inv-1" has credited another account or amount'),
    });
    expect(await control(['account', 'credit', account.out, '9007190', '--reference', 'inv-3'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('The balance would exceed'),
    });
    const key = await control(['key', 'create', '--account', account.out, '--name', 'first', '--limit', '5']);
    expect(apiKeyKind(key.out)).toBe('inference');
    const pool = openTestPool(databaseUrl);
    const { rows } = await pool.query('select hash, name, credit_limit_nusd, openai_compatible from api_keys');
    expect(rows).toEqual([
      { hash: hashSecret(key.out), name: 'first', credit_limit_nusd: '5000000000', openai_compatible: true },
    ]);
    // What cannot be written to the audit log does not happen.
    const counted = async () =>
      (await pool.query('select (select count(*) from accounts), (select count(*) from api_keys) as keys')).rows;
    const before = await counted();
    await pool.query('alter table acts add constraint not_now check (false) not valid');
    const environment = { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example' };
    for (const args of [
      ['account', 'create', '--name', 'Bob'],
      ['account', 'create', 'bob@example.com'],
      ['key', 'create', '--account', account.out],
    ])
      expect(await control(args, environment)).toMatchObject({
        ...{ code: 1, out: '' },
        error: expect.stringContaining('not_now'),
      });
    await pool.query('alter table acts drop constraint not_now');
    expect(await counted()).toEqual(before);
    expect(await control(['account', 'create', 'bob@example.com'], environment)).toMatchObject({ code: 0 });
    await pool.end();
  });

  it('makes the first account an operator by the commands of the guide', async () => {
    const environment = { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example' };
    const run = (name: string) => {
      const [program, ...args] = documentedBlock('docs/operate/people.md', name).trim().split(' ');
      expect(program).toBe('sotto-control');
      return control(args, environment);
    };
    expect(await run('first-account')).toMatchObject({ code: 0 });
    expect(await run('first-operator')).toMatchObject({
      code: 1,
      error: expect.stringContaining('you@example.com has no second factor'),
    });
    const pool = openTestPool(databaseUrl);
    await pool.query("update auth_user set two_factor_enabled = true where email = 'you@example.com'");
    await pool.end();
    expect(await run('first-operator')).toMatchObject({ code: 0 });
    expect((await control(['operator', 'list'])).out).toContain('you@example.com');
  });

  it('deletes a person by the commands of the guide', async () => {
    const environment = { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example' };
    const [list = '', remove = ''] = documentedBlock('docs/operate/people.md', 'delete-person').trim().split('\n');
    const run = (line: string) => control(line.split(' ').slice(1), environment);
    expect((await run('sotto-control account create ann@example.com')).code).toBe(0);
    const [, id = ''] = /^(\S+) {2}ann@example\.com /.exec((await run(list)).out) ?? [];
    expect(await run(remove.replace('ACCOUNT_ID', id))).toMatchObject({
      code: 0,
      out: `${id} is deleted; its keys stop within seconds while control runs`,
    });
    expect((await run(list)).out).toBe('');
  });

  it('invites all addresses of a file by the command of the guide, or none if one is malformed', async () => {
    const line = documentedBlock('docs/operate/people.md', 'invite-many').trim();
    const invite = async (people: string) => {
      await writeFile(join(folder, 'people.txt'), people);
      const [args = ''] = line.replace('sotto-control ', '').split(' < ');
      const program = [process.execPath, ...fromSource, join(root, programOf('apps/control/src/main.ts'))];
      const environment = { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example', SIGN_UP: 'invited' };
      return runToEnd('sh', ['-c', `"$@" < people.txt`, 'sh', ...program, ...args.split(' ')], folder, environment);
    };
    const malformed = await invite('one@example.com\nnot an address\n');
    expect(malformed).toMatchObject({
      ...{ code: 2, out: '' },
      error: expect.stringContaining('line 2: the address is "not"; write it as ann@example.com'),
    });
    const invited = await invite(
      '# The first ones\nOne@example.com\n\ntwo@example.com, "Three, Jr." <three@example.com>\nOne Person <one@example.com>\n',
    );
    expect(invited.out.split('\n').map((each) => each.split(' ')[0])).toEqual([
      'one@example.com',
      'two@example.com',
      'three@example.com',
    ]);
    expect(invited.code).toBe(0);
    const shown = await control(['sign-up', 'show'], {
      ...{ DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example', SIGN_UP: 'invited' },
    });
    expect(shown.out.match(/^invited: /gm)).toHaveLength(3);
  });

  it('prints what was spent and done by the commands of the guide', async () => {
    const run = async (name: string) => {
      const script = documentedBlock('docs/operate/people.md', name).replace('sotto-control', '"$@"');
      const program = [process.execPath, ...fromSource, join(root, programOf('apps/control/src/main.ts'))];
      return runToEnd('sh', ['-c', script, 'sh', ...program], folder, { DATABASE_URL: databaseUrl });
    };
    expect(await run('spend')).toEqual({ code: 0, out: '', error: '' });
    expect(await readFile(join(folder, 'spend.csv'), 'utf8')).toBe(
      'month,workspace_id,workspace_name,payer_id,payer_email,member_id,member_email,requests,cost\r\n',
    );
    expect(await run('acts')).toEqual({ code: 0, out: '', error: '' });
  });

  it('ends without an error when the reader of a long list leaves', async () => {
    const pool = openTestPool(databaseUrl);
    await pool.query(
      "insert into acts (id, actor, act, details) select gen_random_uuid(), 'command_line', 'account_created', jsonb_build_object('note', repeat('x', 200)) from generate_series(1, 3000)",
    );
    await pool.end();
    const command = [process.execPath, ...fromSource, programOf('apps/control/src/main.ts'), 'acts', 'list'];
    const script = 'set -o pipefail; "$@" | head -n 1';
    const { code, out, error } = await runToEnd('bash', ['--norc', '-c', script, 'bash', ...command], root, {
      DATABASE_URL: databaseUrl,
    });
    expect([code, out.split('\n').length, error]).toEqual([0, 1, '']);
  });

  it('prints another link to set a password', async () => {
    const environment = { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example' };
    await control(['account', 'create', 'lost@example.com'], environment);
    expect((await control(['account', 'link', 'Lost@example.com'], environment)).out).toMatch(
      /^set a password within a day: https:\/\/sotto\.example\/reset-password#token=[\w-]{43}$/,
    );
    expect(await control(['account', 'link', 'no@example.com'], environment)).toMatchObject({
      code: 1,
      error: expect.stringContaining('no@example.com has no account'),
    });
  });

  it('creates the account of a person, who sets a password by a link', async () => {
    const environment = { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: 'https://sotto.example' };
    const made = await control(['account', 'create', 'Ann@example.com', '--name', 'Ann'], environment);
    expect(made.out).toMatch(
      /^account: [0-9a-f-]{36}\nset a password within a day: https:\/\/sotto\.example\/reset-password#token=[\w-]{43}$/,
    );
    expect(await control(['account', 'create', 'ann@example.com'], environment)).toMatchObject({
      code: 1,
      error: 'sotto-control: ann@example.com has an account already',
    });
    expect(await control(['account', 'create', 'nobody'], environment)).toMatchObject({
      code: 2,
      error: expect.stringContaining('the address is "nobody"; write it as ann@example.com'),
    });
  });

  it('checks a billing file, with the cost of each package or the line of each problem', async () => {
    const builtIn = await control(['billing', 'check', 'apps/control/billing.yaml']);
    expect(builtIn).toMatchObject({ code: 0, out: expect.stringContaining('usd-25: 25 USD, plus a fee of 1.25 USD') });
    const file = join(folder, 'billing.yaml');
    const text = await readFile(join(root, 'apps/control/billing.yaml'), 'utf8');
    await writeFile(file, text.replace('amount: 25}', 'amount: 25.001}'));
    const line = text.slice(0, text.indexOf('amount: 25}')).split('\n').length;
    expect(await control(['billing', 'check', file])).toMatchObject({
      code: 1,
      error: `${file}:${line}: \`packages.1.amount\` is \`25.001\`: it must be whole cents, 0 or more`,
    });
  });

  it.each([
    [['order', 'refund', 'nothing', '1'], /the order id is "nothing"/],
    [['order', 'refund', '00000000-0000-4000-8000-000000000000', '0'], /the total refunded/],
    [['order', 'refund', '00000000-0000-4000-8000-000000000000', '1'], /order .* does not exist/],
    [['account', 'credit', 'nobody', '1', '--reference', 'x'], /the account id is "nobody"/],
    [
      ['account', 'credit', '00000000-0000-4000-8000-000000000000', '1', '--reference', 'x'],
      /account .* does not exist/,
    ],
    [['account', 'credit', '00000000-0000-4000-8000-000000000000', '-1', '--reference', 'x'], /ERR|usage|amount/],
    [
      ['account', 'credit', '00000000-0000-4000-8000-000000000000', '1.0000000001', '--reference', 'x'],
      /at most nine decimals/,
    ],
    [
      ['account', 'credit', '00000000-0000-4000-8000-000000000000', '9007200', '--reference', 'x'],
      /the amount is 9007200 USD; the most is 9007199\.254740991 USD/,
    ],
    [['account', 'credit', '00000000-0000-4000-8000-000000000000', '1'], /--reference is missing/],
    [
      ['key', 'create', '--account', '00000000-0000-4000-8000-000000000000', '--kind', 'royal'],
      /use inference or management/,
    ],
    [['operator', 'revoke', 'ann@example.com', 'bob@example.com'], /"bob@example.com" is one argument too many/],
    [['account', 'credit', '00000000-0000-4000-8000-000000000000', '1', '000', '--reference', 'x'], /"000" is one/],
    [['spend', '2026-10'], /"2026-10" is one argument too many/],
    [['billing', 'check'], /needs a billing file/],
    [['explain', 'chat.json'], /--registry FILE/],
  ])('refuses %j with a reason', async (args, reason) => {
    const ran = await control(args);
    // 1 would say that right arguments failed.
    expect(ran.code).toBe(reason.source.includes('does not exist') ? 1 : 2);
    expect(ran.error).toMatch(reason);
  });

  it('checks a catalog against a registry, each problem with its line', async () => {
    const registry = join(folder, 'providers.yaml');
    const catalog = join(folder, 'catalog.yaml');
    await writeFile(
      registry,
      'providers:\n  - {id: acme, name: Acme, adapter: openai, base_url: "https://api.acme.example/v1", privacy_class: private}\n',
    );
    const route = (provider: string, pricing: string) =>
      `      - {provider: ${provider}, upstream_model: m, privacy_class: private, pricing: ${pricing}}\n`;
    const model = 'models:\n  - id: acme/small\n    model_type: text\n    context_length: 1000\n    routes:\n';
    await writeFile(catalog, model + route('acme', '{input: 1, output: 2}'));
    expect(await control(['catalog', 'check', catalog, '--registry', registry], {})).toMatchObject({
      code: 0,
      out: `${catalog}: 1 model, 1 route, no problems`,
    });
    await writeFile(catalog, model + route('acme', '{input: 1}') + route('nobody', '{input: 1, output: 2}'));
    const refused = await control(['catalog', 'check', catalog, '--registry', registry], {});
    expect(refused.code).toBe(1);
    expect(refused.error).toMatch(/catalog\.yaml:6: acme\/small: the route of acme lacks the price output/);
    expect(refused.error).toMatch(/catalog\.yaml:7: acme\/small: provider nobody is not in the registry/);
  });
});
