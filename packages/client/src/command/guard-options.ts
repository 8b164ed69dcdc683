import type { Finding } from '../redaction/finding.ts';
import { readText } from './settings.ts';
import { type Terminal, UsageError } from './terminal.ts';

/** Options by which the client guards a tool beyond the private flow, as `parseArgs` takes them. */
export const guardOptions = {
  'prove-tool-calls': { type: 'boolean' },
  redact: { type: 'boolean' },
  'redact-words': { type: 'string' },
} as const;

export const guardHelp = `  --prove-tool-calls   hand a tool call to the agent only if a receipt of the verified broker proves the bytes of request
                       and answer; not with --e2ee, whose chats have no tools
  --redact             replace names, addresses, keys and secrets in chats by placeholders before they are sent, and put
                       them back into the answers. It misses some; also with --e2ee
  --redact-words FILE  with --redact, also replace these words: one a line`;

interface GuardValues {
  readonly 'prove-tool-calls'?: boolean | undefined;
  readonly redact?: boolean | undefined;
  readonly 'redact-words'?: string | undefined;
  readonly e2ee?: boolean | undefined;
}

/**
 * Returns the values that redaction always replaces, or undefined without `--redact`: the words of the user, and secrets of
 * the environment. Throws a `UsageError` for options that do not go together.
 */
export function readGuards({ environment }: Terminal, values: GuardValues): readonly Finding[] | undefined {
  const { 'prove-tool-calls': proves, e2ee, redact, 'redact-words': file } = values;
  if (proves && e2ee) {
    throw new UsageError(
      '--prove-tool-calls does nothing with --e2ee: encrypted chats have no tool calls. Leave one of the two out.',
    );
  }
  if (!redact && file !== undefined) throw new UsageError('--redact-words needs --redact.');
  if (!redact) return undefined;
  const words = file === undefined ? [] : readWords(file);
  const secrets = Object.entries(environment).flatMap(([name, value = '']): Finding[] =>
    namesSecret.test(name) && value.length >= 8 ? [{ kind: 'SECRET', value }] : [],
  );
  return [...words.map((value): Finding => ({ kind: 'WORD', value })), ...secrets];
}

const namesSecret = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$/i;

function readWords(file: string): readonly string[] {
  const lines = readText('--redact-words', file).split(/\r?\n/);
  const words = lines.map((line) => line.trim()).filter((line) => line !== '');
  const short = words.find(({ length }) => length < 4);
  if (short !== undefined) {
    throw new UsageError(`--redact-words ${file}: "${short}" is too short; a word has at least 4 characters.`);
  }
  return words;
}
