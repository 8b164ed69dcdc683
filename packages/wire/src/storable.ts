import { ServiceError } from './errors.ts';

/**
 * Throws `invalid_request` if a parsed request has a text that Postgres refuses: one with a NUL character or with half of a
 * surrogate pair. `what` names the request's part, for a text that is no field. Uses no recursion, because a body may nest deeper
 * than the stack.
 */
export function assertStorable(value: unknown, what: string): void {
  const left: { readonly value: unknown; readonly field: string | undefined }[] = [{ value, field: undefined }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value: present, field } = next;
    if (typeof present === 'string' && !isStorable(present)) throw unstorable(field, what);
    if (typeof present !== 'object' || present === null) continue;
    for (const [name, inner] of Object.entries(present)) {
      if (!isStorable(name)) throw unstorable(field, what);
      left.push({ value: inner, field: field ?? name });
    }
  }
}

/** Whether Postgres takes a text. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

function unstorable(field: string | undefined, what: string): ServiceError {
  const param = field?.slice(0, 128);
  const subject = param === undefined ? what : `\`${param}\``;
  const message = `${subject} must not contain a NUL character or half of a surrogate pair.`;
  return new ServiceError('invalid_request', { message, ...(param === undefined ? {} : { param }) });
}
