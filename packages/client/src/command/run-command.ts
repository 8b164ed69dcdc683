import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getSystemErrorMap, parseArgs, parseEnv } from 'node:util';
import { type OfferedModel, readOfferedModels } from '@sotto/dialects';
import { asObject, autoModelId, isOwnSecret, parseJson, parseModelReference } from '@sotto/wire';
import { type Agent, type AgentStart, agents, besideProxies, foreignKeys, proxyInTheWay } from '../agents/index.ts';
import { readPrices } from '../bill/price-list.ts';
import { askForModels } from '../private/private-exchange.ts';
import { agentHelp, agentOptions } from './agent-options.ts';
import { readGuards } from './guard-options.ts';
import { localHost, newToken, readRule, startProxy } from './local-proxy.ts';
import { openService } from './open-service.ts';
import { RunCosts, readCap, readCostTerms } from './run-costs.ts';
import { endTree, guardRun, type RunGuard } from './run-guard.ts';
import { type ExitCode, printable, type Terminal, UsageError } from './terminal.ts';
import { typedOptions } from './typed-options.ts';
import { readWarmCaches, withWarmCaches } from './warm-caches.ts';

export const runHelp = `sotto run AGENT [-- ARGUMENTS]: run a coding agent whose requests go through the verified private flow.

Agents: ${Object.keys(agents).join(', ')}.
The agent runs in this terminal, with the arguments after \`--\`. It gets a local address and a token that ends with the run. Your own
configuration of the agent is not changed.

${agentHelp('on, but off with --anonymous')}
  --keep-env           leave the keys of other services in the agent's environment
  --print              print the agent's settings for \`sotto proxy\`, and run nothing

Exit codes: those of the agent; 1 the verdict is too weak; 2 wrong command line; 3 no connection or no evidence.
`;

/** Runs `sotto run AGENT`. Resolves to the exit code of the agent. */
export async function runCommand(terminal: Terminal, args: readonly string[]): Promise<number> {
  const split = args.indexOf('--');
  const [own, forAgent] = split === -1 ? [args, []] : [args.slice(0, split), args.slice(split + 1)];
  const { values, positionals } = parseArgs({
    args: [...own],
    allowPositionals: true,
    options: {
      ...agentOptions,
      'keep-env': { type: 'boolean' },
      print: { type: 'boolean' },
    },
  });
  const [name, ...rest] = positionals;
  const agent = agentOf(name);
  if (rest.length > 0)
    throw new UsageError(`Write \`--\` before the arguments of ${name}: sotto run ${name} -- ${rest.join(' ')}`);
  if (agent.needsModel && values.model === undefined) {
    throw new UsageError(
      `${name} needs --model creator/model. GET /v1/catalog/models of the control origin lists the models.`,
    );
  }
  const redacted = readGuards(terminal, values);
  // The requests of a wallet are linked to each other already; what its owner asks for shall not add to that.
  const isWarm = readWarmCaches(values['warm-caches'], !values.anonymous);
  readCap(values);
  if (values.print) {
    // The proxy has another default.
    const ofProxy = { ...values, 'warm-caches': isWarm ? 'on' : undefined };
    const options = typedOptions(agentOptions, ofProxy, quoted);
    return print(terminal, agent, { model: values.model, options, forAgent });
  }
  await requireNoProxyBetween(terminal, agent);
  const terms = readCostTerms(values);
  const rules = (values.map ?? []).map(readRule);
  const client = await openService(terminal, values);
  if (typeof client === 'number') return client;
  const token = newToken();
  let folder: string | undefined;
  let guard: RunGuard | undefined;
  // An anonymous wallet is open by now.
  try {
    folder = await mkdtemp(join(tmpdir(), 'sotto-run-'));
    guard = guardRun(folder);
    const { list, status, text } = await askForModels(client.exchange);
    if (list === undefined) {
      // A proxy between may answer with a page.
      const error = asObject(asObject(parseJson(text))?.error);
      terminal.note(
        `${printable(`${error?.type ?? status}: ${error?.message ?? 'The models could not be listed.'}`)}\n`,
      );
      return 1;
    }
    const models = readOfferedModels(list);
    const prices = readPrices(list)?.prices ?? [];
    const unlisted = unlistedModel(values.model, models) ?? unnamedModel(agent, values, models);
    if (unlisted !== undefined) {
      terminal.note(`${unlisted}\n`);
      return 2;
    }
    const costs = new RunCosts({ ...terms, terminal, client, prices, notesTurns: false });
    const exchange = withWarmCaches(isWarm, costs, client);
    const { server, origin } = await startProxy(terminal, {
      ...{ exchange, rules, fallback: values.model, token, port: 0, redacted },
    });
    try {
      const contextLength = models.find(({ id }) => id === values.model)?.contextLength;
      const ids = models.map(({ id }) => id);
      const start = agent.start({ origin, token, model: values.model, contextLength, models: ids, folder });
      for (const [file, text] of Object.entries(start.files)) {
        await mkdir(dirname(join(folder, file)), { recursive: true });
        await writeFile(join(folder, file), text, { mode: 0o600 });
      }
      const ofUser = besideProxies(environmentOf(terminal, values['keep-env'] ?? false), localHost);
      const environment = { ...ofUser, ...start.environment };
      const run = { args: [...start.args, ...forAgent], environment, guard };
      return await inForeground(terminal, agent, run).catch((error) => notStarted(terminal, agent, error));
    } finally {
      server.closeAllConnections();
      server.close();
      await costs.end();
    }
  } finally {
    await client.leave();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    guard?.release();
  }
}

/** Says that the service does not list a model. Undefined if it does, or if no model was named. */
function unlistedModel(model: string | undefined, models: readonly OfferedModel[]): string | undefined {
  if (model === undefined || model === autoModelId) return undefined;
  const { id } = parseModelReference(model);
  if (models.some((each) => each.id === id)) return undefined;
  return `--model ${printable(model)} is not a text model of this service. It lists: ${shownModels(models)}.`;
}

function shownModels(models: readonly OfferedModel[]): string {
  const shown = models.slice(0, mostShown).map(({ id }) => id);
  const more = models.length > mostShown ? `, and ${models.length - mostShown} more` : '';
  return `${printable(shown.join(', '))}${more}`;
}

/** Says that an agent which asks for models of its maker would find none here. Undefined if the user names or maps them. */
function unnamedModel(
  { needsModel, program }: Agent,
  { model, map }: { readonly model?: string | undefined; readonly map?: readonly string[] | undefined },
  models: readonly OfferedModel[],
): string | undefined {
  if (needsModel || model !== undefined || map !== undefined || models.some(({ id }) => id.includes(program)))
    return undefined;
  return `No model of this service is one of ${program}. Name one with --model, or map names with --map. It lists: ${shownModels(models)}.`;
}

/** The most models that a refusal names. */
const mostShown = 10;

function agentOf(name: string | undefined): Agent {
  const agent = name !== undefined && Object.hasOwn(agents, name) ? agents[name] : undefined;
  if (agent !== undefined) return agent;
  const known = Object.keys(agents).join(', ');
  throw new UsageError(
    name === undefined ? `Name an agent: ${known}.` : `"${name}" is not an agent that this command knows: ${known}.`,
  );
}

/**
 * The user's environment, without keys by which the agent would reach other services. Keys of this service are for the proxy
 * alone, whatever the variable: an agent could send them to the service that the variable is named after.
 */
function environmentOf({ environment }: Terminal, keeps: boolean): Record<string, string> {
  const left = new Set(keeps ? ['INFERENCE_KEY', 'MANAGEMENT_KEY'] : foreignKeys);
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !left.has(entry[0]) && !isOwnSecret(entry[1]),
    ),
  );
}

/**
 * Throws a `UsageError` if the user's file of variables for the agent replaces the list of hosts without a proxy. The agent
 * would send prompts and the token of the run to the proxy, in clear.
 */
async function requireNoProxyBetween({ environment }: Terminal, { program, variablesFile }: Agent): Promise<void> {
  const file = variablesFile?.(environment, environment.HOME || homedir());
  const text = file === undefined ? undefined : await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const variables = parseEnv(text);
  const found = proxyInTheWay({ ...environment, NO_PROXY: '', no_proxy: '', ...variables }, localHost);
  if (found?.exempt === undefined) return;
  const { proxy, exempt } = found;
  throw new UsageError(
    `${file} sets ${exempt} to "${variables[exempt]}", and ${proxy} is set: ${program} would send prompts and the token of this run to that proxy. Add ${localHost} to ${exempt} in that file.`,
  );
}

/** Time in ms that the agent and its processes get to end when `sotto` is told to end. */
const graceMs = 5_000;

interface AgentRun {
  readonly args: readonly string[];
  readonly environment: Record<string, string>;
  readonly guard: RunGuard;
}

/** Runs the agent with this terminal. Resolves to its exit code, or 128 and the number of the signal that ended it. */
function inForeground(terminal: Terminal, { program }: Agent, { args, environment, guard }: AgentRun): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: environment });
    const { pid } = child;
    if (pid !== undefined) guard.watch(pid);
    let ending: Promise<void> | undefined;
    const stop = terminal.onInterrupt((signal) => {
      // A terminal gives Ctrl-C to the agent itself, which may mean something else by it than to end.
      if (pid === undefined || (signal === 'SIGINT' && terminal.input.isTTY)) return;
      ending ??= endTree(pid, signal, graceMs);
    });
    child.once('error', (error) => {
      stop();
      reject(error);
    });
    child.once('close', async (code, signal) => {
      await ending;
      stop();
      resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']);
    });
  });
}

/** Says why the system did not start an agent. `spawn` throws some of its errors, and reports others by an event. */
function notStarted(terminal: Terminal, { program, install }: Agent, error: NodeJS.ErrnoException): ExitCode {
  if (!error.syscall?.startsWith('spawn')) throw error;
  const [, reason = error.message] = getSystemErrorMap().get(error.errno ?? 0) ?? [];
  terminal.note(
    error.code === 'ENOENT'
      ? `${program} is not installed, or not on the PATH. Install it: ${install}\n`
      : `${program} cannot be started: ${reason}.\n`,
  );
  return 2;
}

interface PrintedSettings {
  readonly model: string | undefined;
  /** Those of the proxy, each after a space. */
  readonly options: string;
  /** The user's arguments for the agent. */
  readonly forAgent: readonly string[];
}

/** Prints how to use the agent with a proxy that runs by itself. */
function print(terminal: Terminal, agent: Agent, settings: PrintedSettings): ExitCode {
  const { model } = settings;
  const start = agent.start({
    origin: `http://${localHost}:4999`,
    token: 'TOKEN',
    model,
    contextLength: undefined,
    models: [],
    folder: folderMark,
  });
  terminal.out(printed(agent, start, settings));
  return 0;
}

/** Stands for the folder, which the printed commands create. No argument can contain this character. */
const folderMark = '\0';

/** A word of a shell. */
function quoted(text: string): string {
  const [before = '', ...after] = text.split(folderMark);
  const plain = (part: string): string => (/^[\w./:=@-]*$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`);
  return text === '' ? "''" : [before, ...after].map(plain).join('"$folder"');
}

function printed(
  { program, install }: Agent,
  { environment, args, files }: AgentStart,
  { options, forAgent }: PrintedSettings,
): string {
  const written = Object.entries(files).map(([name, text]) => [`${folderMark}/${name}`, text] as const);
  const folders = new Set(written.map(([path]) => dirname(path)));
  return [
    `# In another terminal: SOTTO_LOCAL_TOKEN=TOKEN sotto proxy${options}`,
    `# Install the agent: ${install}`,
    // A folder with a name that is known in advance could be another user's.
    ...(written.length === 0 ? [] : ['folder=$(mktemp -d)']),
    '# A proxy of your network would see prompts and the token.',
    `export NO_PROXY="${localHost},\${NO_PROXY:-\${no_proxy:-}}" no_proxy="${localHost},\${no_proxy:-\${NO_PROXY:-}}"`,
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...[...folders].map((each) => `mkdir -p ${quoted(each)}`),
    ...written.map(([path, text]) => `cat > ${quoted(path)} <<'END'\n${text}\nEND`),
    [program, ...args, ...forAgent].map(quoted).join(' '),
    '',
  ].join('\n');
}
