import { type LockableField, lockableFields, type UpdateKey } from '@sotto/contract/control/keys';

/** Whether the value of a field restricts a key. Null removes a rule. */
const restricts = (field: LockableField, value: unknown): boolean =>
  field === 'openai_compatible' ? value === false : field === 'disabled' ? value === true : value !== null;

/**
 * Returns the locks of a key after an admin has changed another's. A field is locked if its value restricts the key, and free if
 * it does not.
 */
export const locksAfter = (locks: readonly LockableField[], sent: UpdateKey): readonly LockableField[] =>
  lockableFields.filter((field) => (sent[field] === undefined ? locks.includes(field) : restricts(field, sent[field])));

/** The locks of a key as they are stored. */
export const readLocks = (stored: readonly string[]): readonly LockableField[] =>
  lockableFields.filter((field) => stored.includes(field));

/** Returns the first field of a change that only admins may change. */
export const firstLocked = (locks: readonly LockableField[], sent: UpdateKey): LockableField | undefined =>
  lockableFields.find((field) => sent[field] !== undefined && locks.includes(field));
