/** The parts of an unexpected error that may be logged. */
export interface ErrorTrace {
  readonly name: string;
  /** Empty if the error has no code, or one that does not look like a code. */
  readonly code: string;
  /** The topmost stack line that is a place in a program. Empty if the message cannot be told apart from the places. */
  readonly at: string;
}

const nameLike = /^[A-Za-z_$][\w$]{0,63}$/;
/** What a code of an error looks like. Anything else may be content. */
export const codeLike = /^(?:[A-Z][A-Z0-9_]{0,63}|[0-9A-Z]{1,5}|\d{1,5})$/;
/** The start of a stack, before its message: `Error: `, `TypeError [ERR_SOMETHING]: `. */
const stackHead = /^[\w$.]+(?: \[\w+\])?(?:: )?/;
/** `at f (file:///a/b.ts:1:2)`, `at async node:internal/x:1:2`. A place ends in a line and a column. */
const placeLike = /^ {4}at [^\n]{1,300}:\d+:\d+\)?$/;

/**
 * Describes an unexpected error without its message, because messages quote parsed content. A stack also begins with
 * the message, which may have many lines that look like places. Values that are not errors are not described at all.
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
  // The message was changed after the stack was captured, so its lines cannot be told apart from places.
  if (!said.startsWith(`${message}\n`)) return '';
  const lines = said.slice(message.length + 1).split('\n');
  return lines.length <= Error.stackTraceLimit ? (lines.find((line) => placeLike.test(line))?.trim() ?? '') : '';
}

/** The last line of a process that ends on an uncaught error, for stderr. */
export function exitMessage(process: string, error: unknown): string {
  const { name, code, at } = traceOf(error);
  return `${process}: ended by an unexpected ${[name, code, at].filter((part) => part !== '').join(' ')}\n`;
}
