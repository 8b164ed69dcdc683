/** What may be told of an error that is none of ours. */
export interface ErrorTrace {
  readonly name: string;
  /** Empty where it has none that reads like a code. */
  readonly code: string;
  /** The topmost line of its stack that is a place in a program; empty where none can be told from its message. */
  readonly at: string;
}

const nameLike = /^[A-Za-z_$][\w$]{0,63}$/;
const codeLike = /^(?:[A-Z][A-Z0-9_]{0,63}|[0-9A-Z]{1,5}|\d{1,5})$/;
/** What a stack begins with, before its message: `Error: `, `TypeError [ERR_SOMETHING]: `. */
const stackHead = /^[\w$.]+(?: \[\w+\])?(?:: )?/;
/** `at f (file:///a/b.ts:1:2)`, `at async node:internal/x:1:2`: a place ends in a line and a column. */
const placeLike = /^ {4}at [^\n]{1,300}:\d+:\d+\)?$/;

/**
 * Tells a foreign error without what it says: messages quote what was parsed, and so does a stack, which begins with the
 * message, be it a message of many lines that look like places. Of what is no error nothing is told.
 */
export function traceOf(error: unknown): ErrorTrace {
  if (!(error instanceof Error)) return { name: 'not an error', code: '', at: '' };
  const code = 'code' in error ? String(error.code) : '';
  return {
    name: nameLike.test(error.name) ? error.name : 'Error',
    code: codeLike.test(code) ? code : '',
    at: placeOf(error),
  };
}

function placeOf({ message, stack }: Error): string {
  if (typeof stack !== 'string' || typeof message !== 'string') return '';
  const [head = ''] = stackHead.exec(stack) ?? [];
  const said = stack.slice(head.length);
  // A message that was changed after the stack was written cannot be told from places in it.
  if (!said.startsWith(`${message}\n`)) return '';
  const lines = said.slice(message.length + 1).split('\n');
  return lines.length <= Error.stackTraceLimit ? (lines.find((line) => placeLike.test(line))?.trim() ?? '') : '';
}

/** The last line of a process that ends by an error that nobody caught; for stderr. */
export function exitMessage(process: string, error: unknown): string {
  const { name, code, at } = traceOf(error);
  return `${process}: ended by an unexpected ${[name, code, at].filter((part) => part !== '').join(' ')}\n`;
}
