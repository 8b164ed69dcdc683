import { parseArgs } from 'node:util';
import { StartError } from '@sotto/server';
import { readDatabaseUrl } from '../config.ts';
import { migrateDatabase } from '../database/migrate.ts';
import {
  accountCreate,
  accountCredit,
  accountDelete,
  accountGrant,
  accountLink,
  accountList,
  accountSwitch,
  keyCreate,
} from './account-commands.ts';
import { actList } from './act-list.ts';
import { audit } from './audit.ts';
import { catalogImport } from './catalog-import.ts';
import { billingCheck, catalogCheck } from './check-files.ts';
import { CliError, type CliProcess, type Option, required, UsageError } from './cli-process.ts';
import { loadControlSettings, settingsOfCommand } from './command-settings.ts';
import { configCheck, configShow, configSplit } from './config.ts';
import { doctor } from './doctor.ts';
import { explain } from './explain.ts';
import { litellmImport } from './litellm-import.ts';
import {
  operatorGrant,
  operatorList,
  operatorRevoke,
  orderList,
  orderRefund,
  providerSpend,
  rejectedDismiss,
  rejectedList,
} from './operator-commands.ts';
import { providerAdd } from './provider-add.ts';
import { serve } from './serve.ts';
import { signUpInvite, signUpShow } from './sign-up-commands.ts';
import { spend } from './spend.ts';

type CommandOptions = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

interface Command {
  readonly usage: string;
  readonly summary: string;
  readonly options?: CommandOptions;
  /** False: the command reads no settings of the service, so it runs without them. Default: true. */
  readonly needsSettings?: false;
  /** The most arguments beside options. Default: none. */
  readonly takes?: number;
  /** Resolves to the exit code, if it may be another than 0. */
  run(
    context: CliProcess,
    positionals: readonly string[],
    values: Readonly<Record<string, Option>>,
  ): Promise<number> | Promise<void>;
}

const text = { type: 'string' } as const;

const commands: Readonly<Record<string, Command>> = {
  serve: { usage: 'serve', summary: 'run the control plane', run: serve },
  migrate: { usage: 'migrate', summary: 'update the database schema', run: migrate },
  'catalog check': {
    usage: 'catalog check FILE [--registry FILE]',
    summary: 'check a catalog file, without a server, for errors and likely mistakes',
    ...{ options: { registry: text }, needsSettings: false },
    takes: 1,
    run: (context, [file], { registry }) => catalogCheck(context, file, registry),
  },
  'catalog import': {
    usage:
      'catalog import FILE|URL|- --provider ID [--listed-as NAME] [--out FILE] [--force] [--privacy-class CLASS] [--creator NAME] ' +
      '[--context-length TOKENS] [--input-price USD] [--output-price USD] [--api-key-env NAME] [--as-of DATE]',
    summary:
      "write a catalog file from a provider's list of models (in the form of OpenAI or OpenRouter), from models.dev's api.json or from LiteLLM's price map",
    options: {
      ...{
        provider: text,
        'listed-as': text,
        out: text,
        force: { type: 'boolean' },
        'privacy-class': text,
        creator: text,
      },
      ...{ 'context-length': text, 'input-price': text, 'output-price': text, 'api-key-env': text, 'as-of': text },
    },
    takes: 1,
    run: (context, [source], values) => catalogImport(context, source, values),
  },
  'litellm import': {
    usage: 'litellm import CONFIG --out DIR [--prices FILE] [--privacy-class CLASS] [--force]',
    summary:
      'write a registry, a catalog and settings from a config.yaml of LiteLLM and its price map, and name what could not be translated',
    ...{
      options: { out: text, prices: text, 'privacy-class': text, force: { type: 'boolean' } },
      needsSettings: false,
    },
    takes: 1,
    run: (context, [file], values) => litellmImport(context, file, values),
  },
  'config check': {
    usage: 'config check [FILE]',
    summary: 'check sotto.yaml, without a server: keys, references, inline parts, and the values of every process',
    needsSettings: false,
    takes: 1,
    run: (context, [file]) => configCheck(context, file),
  },
  'config show': {
    usage: 'config show [FILE]',
    summary: 'print the effective settings of control, each with its source, and the others of sotto.yaml',
    needsSettings: false,
    takes: 1,
    run: (context, [file]) => configShow(context, file),
  },
  'config split': {
    usage: 'config split [FILE] --out DIR',
    summary: "write the registry and the broker's part of sotto.yaml, which are measured into its image",
    ...{ options: { out: text }, needsSettings: false },
    takes: 1,
    run: (context, [file], { out }) => configSplit(context, file, out),
  },
  'provider add': {
    usage:
      'provider add URL [--id ID] [--name NAME] [--api-key-env NAME] [--registry FILE] [--catalog FILE] [--force] ' +
      '[--insecure-http] [--privacy-class CLASS] [--context-length TOKENS] [--input-price USD] [--output-price USD] [--tools]',
    summary: 'ask a server for its models, and add it to a registry and a catalog file',
    options: {
      ...{ id: text, name: text, registry: text, catalog: text, force: { type: 'boolean' }, 'privacy-class': text },
      ...{ 'context-length': text, 'input-price': text, 'output-price': text, 'api-key-env': text },
      ...{ 'insecure-http': { type: 'boolean' }, tools: { type: 'boolean' } },
    },
    takes: 1,
    run: (context, [address], values) => providerAdd(context, address, values),
  },
  explain: {
    usage: 'explain FILE --registry FILE [--catalog FILE] [--preferences FILE]',
    summary: 'print which routes a chat request in a JSON file would use, and why the others are excluded',
    options: { registry: text, catalog: text, preferences: text },
    takes: 1,
    run: (context, [file], { registry, catalog, preferences }) =>
      explain(context, file, { registry, catalog, preferences }),
  },
  audit: {
    usage: 'audit',
    summary:
      'recompute every balance and compare it with Redis and the settlements; exits 1 if one nano-dollar differs',
    run: audit,
  },
  'rejected list': {
    usage: 'rejected list',
    summary: 'list the settlements that could not be booked and are unresolved',
    run: rejectedList,
  },
  'rejected dismiss': {
    usage: 'rejected dismiss ID --why TEXT',
    summary: 'resolve a settlement that will not be booked; the audit no longer reports it',
    options: { why: text },
    takes: 1,
    run: (context, [id], { why }) => rejectedDismiss(context, { id, why }),
  },
  doctor: {
    usage: 'doctor',
    summary:
      'check settings, Postgres, Redis, clocks, schema, shared state and both origins; exits 1 if something is wrong',
    run: doctor,
  },
  'billing check': {
    usage: 'billing check FILE',
    summary: 'check a billing file, without a server, and show the price of each package',
    needsSettings: false,
    takes: 1,
    run: (context, [file]) => billingCheck(context, file),
  },
  'order refund': {
    usage: 'order refund ORDER_ID USD',
    summary: 'record the total refunded for an order so far, if its payment rail does not report it (crypto)',
    takes: 2,
    run: (context, [order, usd]) => orderRefund(context, { order, usd }),
  },
  'account create': {
    usage: 'account create EMAIL [--name NAME] | --name NAME',
    summary:
      'create an account and print its id: for a person, with a link to set a password, or for programs, by a name',
    options: { name: text },
    takes: 1,
    run: (context, [email], { name }) => accountCreate(context, email, name),
  },
  'account link': {
    usage: 'account link EMAIL',
    summary: 'print a new link to set a password, if the first one has expired',
    takes: 1,
    run: (context, [email]) => accountLink(context, email),
  },
  'account credit': {
    usage: 'account credit ACCOUNT_ID USD --reference TEXT',
    summary: 'credit an account; each reference credits it once',
    options: { reference: text },
    takes: 2,
    run: (context, [account, usd], { reference }) => accountCredit(context, { account, usd, reference }),
  },
  'account grant': {
    usage: 'account grant EMAIL|ACCOUNT_ID USD|default',
    summary: "set what an account gets each month with BILLING=none; default means the deployment's MONTHLY_GRANT_USD",
    takes: 2,
    run: (context, [account, usd]) => accountGrant(context, { account, usd }),
  },
  'account list': {
    usage: 'account list [--search TEXT]',
    summary: 'list accounts with their state, balance, charges of this month and last day of use',
    options: { search: text },
    run: (context, _, { search }) => accountList(context, search),
  },
  'account disable': {
    usage: 'account disable ACCOUNT_ID',
    summary: 'stop the keys and end the sessions of an account; its money stays',
    takes: 1,
    run: (context, [account]) => accountSwitch(context, account, 'disabled'),
  },
  'account enable': {
    usage: 'account enable ACCOUNT_ID',
    summary: 'let a disabled account sign in again, and its keys work again',
    takes: 1,
    run: (context, [account]) => accountSwitch(context, account, 'enabled'),
  },
  'account delete': {
    usage: 'account delete ACCOUNT_ID --email EMAIL [--with-workspaces]',
    summary:
      'delete a person on request, as they could themselves: sign-in, address, names, keys and workspaces; the rest of the money is forfeited',
    options: { email: text, 'with-workspaces': { type: 'boolean' } },
    takes: 1,
    run: (context, [account], values) => accountDelete(context, account, values),
  },
  'sign-up show': {
    usage: 'sign-up show',
    summary: 'print who may sign up, and which addresses are invited',
    run: signUpShow,
  },
  'sign-up invite': {
    usage: 'sign-up invite EMAIL... | -',
    summary:
      'let addresses of any domain sign up within seven days; - reads them from standard input, also as `Ann <ann@example.com>`, without lines that begin with #',
    takes: Number.POSITIVE_INFINITY,
    run: (context, emails) => signUpInvite(context, emails),
  },
  'acts list': {
    usage:
      'acts list [--search TEXT] [--act ACT,...] [--actor account|operator|command_line|identity_provider|app] [--workspace ID] ' +
      '[--from DATE] [--to DATE] [--limit N]',
    summary: 'list the acts of operators and workspaces, newest first',
    options: { search: text, act: text, actor: text, workspace: text, from: text, to: text, limit: text },
    run: (context, _, values) => actList(context, values),
  },
  'order list': { usage: 'order list', summary: 'list the orders of all accounts, newest first', run: orderList },
  spend: {
    usage: 'spend [--from MONTH] [--to MONTH] [--format csv|json]',
    summary:
      'print what each person used in each month (2026-11) and workspace, and who paid; without models, keys and anonymous wallets',
    options: { from: text, to: text, format: text },
    run: (context, _, values) => spend(context, values),
  },
  'provider spend': {
    usage: 'provider spend',
    summary: 'print what accounts were charged for the answers of each provider this month',
    run: providerSpend,
  },
  'operator grant': {
    usage: 'operator grant EMAIL',
    summary: 'let a user administer this deployment in the dashboard and by API',
    takes: 1,
    run: (context, [email]) => operatorGrant(context, email),
  },
  'operator revoke': {
    usage: 'operator revoke EMAIL',
    summary: 'take that role away',
    takes: 1,
    run: (context, [email]) => operatorRevoke(context, email),
  },
  'operator list': { usage: 'operator list', summary: 'list the users who have that role', run: operatorList },
  'key create': {
    usage: 'key create --account ID [--kind inference|management] [--name NAME] [--limit USD] [--no-compatibility]',
    summary: 'create a key and print it once',
    options: { account: text, kind: text, name: text, limit: text, 'no-compatibility': { type: 'boolean' } },
    run: (context, _, values) => keyCreate(context, values),
  },
};

const help = (): string[] => [
  'sotto-control: the control plane of Sotto',
  '',
  ...Object.values(commands).map(({ usage, summary }) => `  sotto-control ${usage}\n      ${summary}`),
  '',
  'Settings come from sotto.yaml (CONFIG_FILE) and from environment variables: see docs/reference/configuration.md.',
];

const codeOf = (ended: unknown): number => (typeof ended === 'number' ? ended : 0);

/** Runs one command. Resolves to the exit code: 0, 1 if the command failed, 2 if its arguments are wrong. */
export async function runCli(args: readonly string[], context: CliProcess): Promise<number> {
  const name = [`${args[0]} ${args[1]}`, args[0] ?? ''].find((candidate) => Object.hasOwn(commands, candidate));
  const command = name === undefined ? undefined : commands[name];
  if (name === undefined || command === undefined) {
    const asked = args.length === 0 || ['help', '--help', '-h'].includes(args[0] ?? '');
    for (const line of help()) (asked ? context.out : context.error)(line);
    return asked ? 0 : 2;
  }
  let explain = (message: string): string => message;
  try {
    const rest = args.slice(name.split(' ').length);
    if (rest.includes('--help') || rest.includes('-h')) {
      context.out(`usage: sotto-control ${command.usage}\n\n${command.summary}`);
      return 0;
    }
    const options: CommandOptions = command.options ?? {};
    const { values, positionals } = parseArgs({ args: rest, options, allowPositionals: true });
    const excess = positionals[command.takes ?? 0];
    if (excess !== undefined) throw new UsageError(`"${excess}" is one argument too many`);
    if (command.needsSettings === false) return codeOf(await command.run(context, positionals, values));
    const given = (name === 'serve' ? loadControlSettings : settingsOfCommand)(context.environment);
    if (!given.ok) throw new CliError(given.message);
    explain = given.explain;
    if (name === 'serve') for (const warning of given.warnings) context.error(`sotto-control: warning: ${warning}`);
    return codeOf(await command.run({ ...context, environment: given.settings }, positionals, values));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code.startsWith('ERR_PARSE_ARGS')) {
      // Node's hint about arguments that begin with a hyphen fits no command.
      const [message] = (error as Error).message.split(/(?<=\.) To specify a positional/);
      context.error(`sotto-control: ${message}`);
      context.error(`usage: sotto-control ${command.usage}`);
      return 2;
    }
    if (error instanceof UsageError) {
      context.error(`sotto-control: ${error.message}`);
      context.error(`usage: sotto-control ${command.usage}`);
      return 2;
    }
    const message =
      error instanceof StartError
        ? explain(error.message)
        : `failed: ${error instanceof Error ? error.message.split('\n')[0] : 'error'}`;
    context.error(`sotto-control: ${message}`);
    return 1;
  }
}

async function migrate(context: CliProcess): Promise<void> {
  await migrateDatabase(required(readDatabaseUrl(context.environment)).DATABASE_URL);
  context.out('the schema is up to date');
}
