import type { z } from 'zod';
import { ServiceError } from '../errors.ts';

/**
 * Parses a request body, or throws the `ServiceError` that says which field was wrong and what would be right.
 * The message quotes field names and expectations, never a value: in the broker values are content.
 */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body, firstFault);
  if (parsed.success) return parsed.data;
  throw requestError(parsed.error);
}

/**
 * Stops at the first fault: zod would make an issue for each bad entry of a list, and a million of them take gigabytes.
 * `abortEarly` is internal to zod, and a test notices if it goes. `error` keeps zod from writing messages that repeat
 * every unknown name; ours are written below. `reportInput` tells a word that is not taken from a value of another type.
 */
const firstFault: z.core.ParseContextInternal<z.core.$ZodIssue> = {
  abortEarly: true,
  error: () => '',
  reportInput: true,
};

/** Returns the error for the first issue. A malformed `provider` has a type of its own. */
export function requestError(error: z.ZodError): ServiceError {
  const issue = deepestIssue(error.issues);
  if (issue === undefined) return new ServiceError('invalid_request');
  const path = issue.path.map(String);
  const param = path.join('.') || undefined;
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, 5).map((key) => `\`${key.slice(0, 64)}\``);
    const where = param === undefined ? 'the request' : `\`${param}\``;
    return new ServiceError('invalid_request', { message: `Unknown field ${keys.join(', ')} in ${where}.`, param });
  }
  const subject = param === undefined ? 'The body' : `\`${param}\``;
  return new ServiceError(isMalformedPolicy(issue) ? 'invalid_provider_policy' : 'invalid_request', {
    message: `${subject} ${sentence(issue)}.`,
    param,
  });
}

/**
 * Says in one clause what is first wrong with a file or an argument of somebody's own: which field, and what it takes.
 * `whole` stands for all of it. Unlike `requestError` it repeats what our own checks said, which may name keys of the file.
 */
export function problemOf(error: z.ZodError, whole: string): string {
  const issue = deepestIssue(error.issues);
  if (issue === undefined) return `${whole} is malformed`;
  const place = issue.path.map(String).join('.');
  const subject = place === '' ? whole : `\`${place}\``;
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, 5).map((key) => `\`${key.slice(0, 64)}\``);
    return `${subject} has an unknown field: ${keys.join(', ')}`;
  }
  const said = sentence(issue);
  const isOurs = issue.code === 'custom' && issue.message !== 'Invalid input';
  return said === 'is malformed' && isOurs ? `${subject} ${said}: ${issue.message}` : `${subject} ${said}`;
}

type Issue = z.core.$ZodIssue;

/** Of a failed union, the branch that came furthest tells most about what the caller meant. */
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
      return `must be ${article(issue.expected)}`;
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
  if (origin === 'string') return `${relation} ${limit} characters long`;
  if (origin === 'array') return `a list of ${relation} ${limit} entries`;
  return `${relation} ${limit}`;
}

function article(expected: string): string {
  if (expected === 'int') return 'an integer';
  const noun = expected === 'record' ? 'object' : expected;
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
