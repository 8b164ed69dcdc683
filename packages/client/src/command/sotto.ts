import { ClientError } from '../errors.ts';
import { chatCommand, chatHelp } from './chat-command.ts';
import { proxyCommand, proxyHelp } from './proxy-command.ts';
import { type ExitCode, type Terminal, UsageError } from './terminal.ts';
import { verifyBillCommand, verifyBillHelp } from './verify-bill-command.ts';
import { verifyCommand, verifyHelp } from './verify-command.ts';

interface Command {
  readonly help: string;
  readonly run: (terminal: Terminal, args: readonly string[]) => Promise<ExitCode>;
}

const commands: ReadonlyMap<string, Command> = new Map([
  ['verify', { help: verifyHelp, run: verifyCommand }],
  ['proxy', { help: proxyHelp, run: proxyCommand }],
  ['chat', { help: chatHelp, run: chatCommand }],
  ['verify-bill', { help: verifyBillHelp, run: verifyBillCommand }],
]);

const help = `sotto: use a confidential model router without trusting it.

  sotto verify URL     verify what runs at a confidential origin
  sotto proxy          give every tool on this machine the verified private flow
  sotto chat           talk with a model over it
  sotto verify-bill FILE   recompute what was charged

\`sotto COMMAND --help\` says more. The inference key comes from SOTTO_API_KEY or --key-file, never from an argument.
`;

/** Runs one call of the command; resolves to its exit code. */
export async function sotto(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    terminal.out(help);
    return name === undefined ? 2 : 0;
  }
  const command = commands.get(name);
  if (command === undefined) {
    terminal.note(`There is no command "${name}". Commands: ${[...commands.keys()].join(', ')}.\n`);
    return 2;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    terminal.out(command.help);
    return 0;
  }
  try {
    return await command.run(terminal, rest);
  } catch (error) {
    if (error instanceof UsageError || isParseError(error)) {
      terminal.note(`${error.message}\nSee \`sotto ${name} --help\`.\n`);
      return 2;
    }
    if (error instanceof ClientError) {
      terminal.note(`${error.code}: ${error.message}\n`);
      return 1;
    }
    throw error;
  }
}

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
