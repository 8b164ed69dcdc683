import { ClientError } from '../errors.ts';
import { PurseError } from '../purse/credit-service.ts';
import { chatCommand, chatHelp } from './chat-command.ts';
import { measureCommand, measureHelp } from './measure-command.ts';
import { pinsCommand, pinsHelp } from './pins-command.ts';
import { playgroundCommand, playgroundHelp } from './playground-command.ts';
import { proxyCommand, proxyHelp } from './proxy-command.ts';
import { purseCommand, purseHelp } from './purse-command.ts';
import { releaseCommand, releaseHelp } from './release-command.ts';
import { runCommand, runHelp } from './run-command.ts';
import { codeOf, exitCodeOf, printableLine, type Terminal, UsageError } from './terminal.ts';
import { verifyBillCommand, verifyBillHelp } from './verify-bill-command.ts';
import { verifyCommand, verifyHelp } from './verify-command.ts';

interface Command {
  readonly help: string;
  /** Resolves to an `ExitCode`, or to the exit code of an agent. */
  readonly run: (terminal: Terminal, args: readonly string[]) => Promise<number>;
}

const commands: ReadonlyMap<string, Command> = new Map([
  ['verify', { help: verifyHelp, run: verifyCommand }],
  ['measure', { help: measureHelp, run: measureCommand }],
  ['pins', { help: pinsHelp, run: pinsCommand }],
  ['release', { help: releaseHelp, run: releaseCommand }],
  ['run', { help: runHelp, run: runCommand }],
  ['proxy', { help: proxyHelp, run: proxyCommand }],
  ['chat', { help: chatHelp, run: chatCommand }],
  ['playground', { help: playgroundHelp, run: playgroundCommand }],
  ['purse', { help: purseHelp, run: purseCommand }],
  ['verify-bill', { help: verifyBillHelp, run: verifyBillCommand }],
]);

const help = `sotto: use a model gateway that you verify instead of trust.

  sotto verify URL     check which code a confidential origin runs
  sotto measure KIND   compute the pins of your own build, without its hardware
  sotto pins add BUNDLE   pin the machines of a release that a public log has
  sotto release        for operators: sign and log a release
  sotto run AGENT      run a coding agent, such as claude, codex or gemini, over the private flow
  sotto proxy          serve the verified private flow to every tool on this machine
  sotto chat           chat with a model through the private flow
  sotto playground     the same on a page that this machine serves
  sotto purse          buy and keep blind credits, for --anonymous
  sotto verify-bill FILE   recompute the charges of a bill

Run \`sotto COMMAND --help\` for options. Pass the inference key in INFERENCE_KEY or with --key-file, never as an argument.
`;

/** Runs one command line; resolves to its exit code. */
export async function sotto(terminal: Terminal, args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    terminal.out(help);
    return name === undefined ? 2 : 0;
  }
  const command = commands.get(name);
  if (command === undefined) {
    terminal.note(`Unknown command "${name}". Commands: ${[...commands.keys()].join(', ')}.\n`);
    return 2;
  }
  // Arguments after `--` are for the agent that `sotto run` starts.
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (own.includes('--help') || own.includes('-h')) {
    terminal.out(command.help);
    return 0;
  }
  try {
    return await command.run(terminal, rest);
  } catch (error) {
    if (error instanceof UsageError || isParseError(error) || isOptionError(error)) {
      // Node's hint about arguments that begin with a hyphen fits no command.
      const [message] = error.message.split(/(?<=\.) To specify a positional/);
      terminal.note(`${message}\nSee \`sotto ${name} --help\`.\n`);
      return 2;
    }
    if (error instanceof PurseError) {
      terminal.note(`${printableLine(error.message)}\n`);
      return 1;
    }
    if (isSqliteError(error)) {
      terminal.note(`The purse cannot be used: ${printableLine(error.message)}.\n`);
      return 1;
    }
    if (error instanceof ClientError) {
      terminal.note(`${error.code}: ${error.message}\n`);
      return exitCodeOf(error);
    }
    throw error;
  }
}

/** The client's objection to an option that the command passed on. */
const isOptionError = (error: unknown): error is ClientError =>
  error instanceof ClientError && (error.code === 'option_invalid' || error.code === 'origin_invalid');

/** The disk is full, or another process keeps the purse locked. */
const isSqliteError = (error: unknown): error is Error => codeOf(error) === 'ERR_SQLITE_ERROR';

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
