/** A key as far as its age decides what it is for. */
export interface AgedKey {
  readonly id: string;
  readonly createdAt: number;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** A new key is shown this long before it is used, so that every process, and every app's cache, has it by then. */
export const announcedMs = 15 * minuteMs;
/** How long a key is used. */
export const usedMs = 90 * dayMs;
/** What was signed with a key can be checked for this long after a newer one took over. ID tokens live an hour. */
export const retiredMs = 2 * dayMs;

export interface KeysInForce<K extends AgedKey> {
  /** The one to use first, then those that are still believed. Empty where there is none. */
  readonly keys: readonly K[];
  /** A new one is due. */
  readonly isDue: boolean;
  readonly obsolete: readonly K[];
}

/** Which of all keys of one kind are in force at an instant. Total; the order of `all` does not matter. */
export function keysInForce<K extends AgedKey>(all: readonly K[], now: number): KeysInForce<K> {
  const newestFirst = all.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  const announced = newestFirst.filter(({ createdAt }) => now - createdAt >= announcedMs);
  // Where none has been shown long enough, the oldest has been shown longest: the very first is used at once.
  const active = announced[0] ?? newestFirst.at(-1);
  const newest = newestFirst[0];
  if (active === undefined || newest === undefined) return { keys: [], isDue: true, obsolete: [] };
  const takenOverAt = active.createdAt + announcedMs;
  const obsolete = newestFirst.filter(({ createdAt }) => createdAt < active.createdAt && now - takenOverAt > retiredMs);
  const kept = newestFirst.filter((key) => key !== active && !obsolete.includes(key));
  return { keys: [active, ...kept], isDue: now - newest.createdAt >= usedMs, obsolete };
}
