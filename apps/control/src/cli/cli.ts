import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { withSecretFiles } from '@sotto/settings';
import { accountCreate, accountCredit } from './account-commands.ts';
import { audit } from './audit.ts';
import { billingCheck } from './billing-check.ts';
import { catalogCheck } from './catalog-check.ts';
import { catalogImport } from './catalog-import.ts';
import { CliError, type CliProcess, UsageError } from './cli-process.ts';
import { doctor } from './doctor.ts';
import { explain } from './explain.ts';
import { keyCreate } from './key-create.ts';
import { migrate } from './migrate.ts';
import { orderRefund } from './order-refund.ts';
import { rejectedDismiss, rejectedList } from './rejected.ts';
import { serve } from './serve.ts';

interface Command {
  readonly usage: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;
  run(
    context: CliProcess,
    positionals: readonly string[],
    values: Readonly<Record<string, string | boolean | undefined>>,
  ): Promise<number>;
}

const text = { type: 'string' } as const;

const commands: Readonly<Record<string, Command>> = {
  serve: { usage: 'serve', summary: 'run the control plane', options: {}, run: (context) => serve(context) },
  migrate: {
    usage: 'migrate',
    summary: 'bring the database schema up to date',
    options: {},
    run: (context) => migrate(context),
  },
  'catalog check': {
    usage: 'catalog check FILE [--registry FILE]',
    summary: 'check a catalog file, without a server: what is wrong with it, and what looks wrong',
    options: { registry: text },
    run: (context, [file], { registry }) => catalogCheck(context, file, registry),
  },
  'catalog import': {
    usage:
      'catalog import FILE|URL|- --provider ID [--out FILE] [--force] [--privacy-class CLASS] [--creator NAME] ' +
      '[--context-length TOKENS] [--input-price USD] [--output-price USD] [--api-key-env NAME] [--as-of DATE]',
    summary: "make a catalog file of a provider's own list of models (OpenAI-shaped, or OpenRouter's)",
    options: {
      ...{ provider: text, out: text, force: { type: 'boolean' }, 'privacy-class': text, creator: text },
      ...{ 'context-length': text, 'input-price': text, 'output-price': text, 'api-key-env': text, 'as-of': text },
    },
    run: (context, [source], values) => catalogImport(context, source, values),
  },
  explain: {
    usage: 'explain FILE --registry FILE [--catalog FILE] [--preferences FILE]',
    summary: 'print where the chat request in a JSON file would go, and why every other route is out',
    options: { registry: text, catalog: text, preferences: text },
    run: (context, [file], { registry, catalog, preferences }) =>
      explain(context, file, { registry, catalog, preferences }),
  },
  audit: {
    usage: 'audit',
    summary: 'recompute every balance, and compare it with Redis and the settlements; exits 1 on one nano-dollar',
    options: {},
    run: (context) => audit(context),
  },
  'rejected list': {
    usage: 'rejected list',
    summary: 'list the settlements that could not be booked and are not resolved',
    options: {},
    run: (context) => rejectedList(context),
  },
  'rejected dismiss': {
    usage: 'rejected dismiss ID --why TEXT',
    summary: 'resolve a settlement that will not be booked; the audit no longer reports it',
    options: { why: text },
    run: (context, [id], { why }) => rejectedDismiss(context, { id, why }),
  },
  doctor: {
    usage: 'doctor',
    summary:
      'look at settings, Postgres, Redis, clocks, schema, shared state and both origins; exits 1 where something is wrong',
    options: {},
    run: (context) => doctor(context),
  },
  'billing check': {
    usage: 'billing check FILE',
    summary: 'check a billing file, without a server, and show what its packages cost',
    options: {},
    run: (context, [file]) => billingCheck(context, file),
  },
  'order refund': {
    usage: 'order refund ORDER_ID USD',
    summary: 'record all that was returned of an order so far, where its rail does not tell (crypto)',
    options: {},
    run: (context, [order, usd]) => orderRefund(context, { order, usd }),
  },
  'account create': {
    usage: 'account create --name NAME',
    summary: 'make an account and print its id',
    options: { name: text },
    run: (context, _, { name }) => accountCreate(context, name),
  },
  'account credit': {
    usage: 'account credit ACCOUNT_ID USD --reference TEXT',
    summary: 'credit an account; a reference credits once, however often it is used',
    options: { reference: text },
    run: (context, [account, usd], { reference }) => accountCredit(context, { account, usd, reference }),
  },
  'key create': {
    usage: 'key create --account ID [--kind inference|management] [--name NAME] [--limit USD] [--no-compatibility]',
    summary: 'make a key and print it, once',
    options: { account: text, kind: text, name: text, limit: text, 'no-compatibility': { type: 'boolean' } },
    run: (context, _, values) => keyCreate(context, values),
  },
};

const help = (): string[] => [
  'sotto-control: the control plane of Sotto',
  '',
  ...Object.values(commands).map(({ usage, summary }) => `  sotto-control ${usage}\n      ${summary}`),
  '',
  'Settings come from the environment; see the README.',
];

/** Runs one command; resolves to the exit code: 0, 1 where the command failed, 2 where it was called wrongly. */
export async function runCli(args: readonly string[], context: CliProcess): Promise<number> {
  const name = [`${args[0]} ${args[1]}`, args[0] ?? ''].find((candidate) => candidate in commands);
  const command = name === undefined ? undefined : commands[name];
  if (name === undefined || command === undefined) {
    const asked = args.length === 0 || args[0] === 'help' || args[0] === '--help';
    for (const line of help()) (asked ? context.out : context.error)(line);
    return asked ? 0 : 2;
  }
  try {
    const rest = args.slice(name.split(' ').length);
    const { values, positionals } = parseArgs({ args: rest, options: command.options, allowPositionals: true });
    const given = withSecretFiles(context.environment, (path) => readFileSync(path, 'utf8'));
    if (!given.ok) throw new CliError(given.message);
    return await command.run({ ...context, environment: given.settings }, positionals, values);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code.startsWith('ERR_PARSE_ARGS')) {
      context.error(`usage: sotto-control ${command.usage}`);
      return 2;
    }
    if (error instanceof UsageError) {
      context.error(`sotto-control: ${error.message}`);
      context.error(`usage: sotto-control ${command.usage}`);
      return 2;
    }
    const message =
      error instanceof CliError
        ? error.message
        : `failed: ${error instanceof Error ? error.message.split('\n')[0] : 'error'}`;
    context.error(`sotto-control: ${message}`);
    return 1;
  }
}
