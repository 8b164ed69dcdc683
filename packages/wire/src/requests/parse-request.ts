import type * as z from 'zod';
import { ServiceError } from '../errors.ts';

/**
 * Parses a request body, or throws a `ServiceError` with the field at fault and what it takes. The message never quotes a value,
 * because values are content in the broker.
 */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body, firstFault);
  if (parsed.success) return parsed.data;
  throw requestError(parsed.error);
}

/**
 * Stops at the first fault, because zod creates an issue for each bad entry of a list, and a million issues take gigabytes.
 * `abortEarly` is internal to zod; a test fails if zod removes it. `error` prevents zod's messages, which repeat every unknown
 * name. `reportInput` distinguishes a disallowed word from a value of another type.
 */
const firstFault: z.core.ParseContextInternal<z.core.$ZodIssue> = {
  abortEarly: true,
  error: () => '',
  reportInput: true,
};

/** Returns the error for the first issue. A malformed `provider` has its own error type. */
export function requestError(error: z.ZodError): ServiceError {
  const issue = deepestIssue(error.issues);
  if (issue === undefined) return new ServiceError('invalid_request');
  const path = issue.path.map(String);
  const param = path.join('.') || undefined;
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, 5).map((key) => `\`${key.slice(0, 64)}\``);
    const where = param === undefined ? 'the request' : `\`${param}\``;
    const unknown = [...path, issue.keys[0]?.slice(0, 64)].join('.');
    return new ServiceError('invalid_request', {
      message: `Unknown field ${keys.join(', ')} in ${where}.`,
      param: unknown,
    });
  }
  const subject = param === undefined ? 'The body' : `\`${param}\``;
  return new ServiceError(isMalformedPolicy(issue) ? 'invalid_provider_policy' : 'invalid_request', {
    message: `${subject} ${sentence(issue)}.`,
    param,
  });
}

/**
 * Describes the first fault of a file or argument in one clause: the field, and what it takes. `whole` names the whole input.
 * Unlike `requestError`, it repeats the messages of our own checks, which may quote keys of the file.
 */
export function problemOf(error: z.ZodError, whole: string): string {
  const issue = deepestIssue(error.issues);
  return issue === undefined ? `${whole} is malformed` : faultInWords(issue, whole);
}

/** Describes every fault of a file, each with its path. With the values, which are the reader's own. */
export function faultsOf(
  error: z.ZodError,
  whole: string,
): readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  return error.issues.map((each) => {
    const issue = deepestIssue([each]) ?? each;
    return { path: issue.path, message: faultInWords(issue, whole) };
  });
}

function faultInWords(issue: Issue, whole: string): string {
  const place = issue.path.map(String).join('.');
  const subject = place === '' ? whole : `\`${place}\``;
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, 5).map((key) => `\`${key.slice(0, 64)}\``);
    return `${subject} has an unknown field: ${keys.join(', ')}`;
  }
  const said = sentence(issue);
  const value = shownValue(issue.input);
  if (said.startsWith('must ') && value !== undefined) return `${subject} is \`${value}\`: it ${said}`;
  const isOurs = issue.code === 'custom' && issue.message !== 'Invalid input';
  return said === 'is malformed' && isOurs ? `${subject}: ${issue.message}` : `${subject} ${said}`;
}

/** A value of a file as a message may show it. An address may contain a secret before its host or in its query. */
function shownValue(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || /:\/\/[^/]*@|\?/.test(value)) return undefined;
  return value.slice(0, 100);
}

type Issue = z.core.$ZodIssue;

/** Returns the issue of the union branch that matched furthest, which is likely the one that the caller meant. */
function deepestIssue(issues: readonly Issue[]): Issue | undefined {
  const first = issues[0];
  if (first?.code === 'invalid_key') return { ...(first.issues[0] ?? first), path: first.path } as Issue;
  if (first?.code !== 'invalid_union') return first;
  const branches = first.errors.map(deepestIssue).filter((issue) => issue !== undefined);
  const inside = branches.filter((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys');
  const best = inside[0] ?? branches.find((issue) => issue.code !== 'invalid_type');
  if (best === undefined) return first;
  return { ...best, path: [...first.path, ...best.path] } as Issue;
}

function isMalformedPolicy(issue: Issue): boolean {
  if (issue.path[0] !== 'provider') return false;
  if (issue.code === 'invalid_value') return issue.input !== undefined && typeof issue.input !== 'string';
  return issue.code === 'invalid_type' || issue.code === 'invalid_format' || issue.code === 'invalid_union';
}

function sentence(issue: Issue): string {
  const message = issue.message;
  if (message.startsWith('must ') || message.startsWith('is ')) return message;
  switch (issue.code) {
    case 'invalid_type':
      return `${'input' in issue && issue.input === undefined ? 'is missing: it ' : ''}must be ${article(issue.expected)}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => `\`${String(value)}\``).join(' or ')}`;
    case 'too_small':
      return `must be ${bound(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must be ${bound(issue.origin, 'at most', issue.maximum)}`;
    default:
      return 'is malformed';
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  const isOne = Number(limit) === 1;
  if (origin === 'string') return `${relation} ${limit} ${isOne ? 'character' : 'characters'} long`;
  if (origin === 'array') return `a list of ${relation} ${limit} ${isOne ? 'entry' : 'entries'}`;
  return `${relation} ${limit}`;
}

function article(expected: string): string {
  if (expected === 'int') return 'an integer';
  const noun = expected === 'record' ? 'object' : expected;
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
