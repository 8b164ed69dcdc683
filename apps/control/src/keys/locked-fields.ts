import { type LockableField, lockableFields, type UpdateKey } from '@sotto/contract/control/keys';

/** Whether the value of a field restricts a key, or says who pays for it. Null removes a rule. */
const restricts = (field: LockableField, value: unknown): boolean =>
  field === 'openai_compatible' ? value === false : field === 'disabled' ? value === true : value !== null;

/**
 * Returns the locks of a key after it was changed: by an admin, or by its maker where no lock forbids it. A field is free if its new
 * value does not restrict the key. It is locked if the value restricts the key of another; nobody locks an own key.
 */
export const locksAfter = (
  locks: readonly LockableField[],
  sent: UpdateKey,
  { isOwn }: { readonly isOwn: boolean },
): readonly LockableField[] =>
  lockableFields.filter((field) => {
    const isLocked = locks.includes(field);
    if (sent[field] === undefined) return isLocked;
    return restricts(field, sent[field]) && (isLocked || !isOwn);
  });

/** The locks of a key as they are stored. */
export const readLocks = (stored: readonly string[]): readonly LockableField[] =>
  lockableFields.filter((field) => stored.includes(field));

/** Returns the first field of a change that only admins may change. */
export const firstLocked = (locks: readonly LockableField[], sent: UpdateKey): LockableField | undefined =>
  lockableFields.find((field) => sent[field] !== undefined && locks.includes(field));
