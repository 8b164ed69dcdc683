/**
 * A key of ours, or two while one replaces the other: the first seals and signs, and what either sealed or signed is believed.
 */
export type Keys = Buffer | readonly [Buffer, ...Buffer[]];

/** What the first of these keys opens that opens it; undefined where none does. */
export function withAnyKey<T>(keys: Keys, open: (key: Buffer) => T | undefined): T | undefined {
  if (Buffer.isBuffer(keys)) return open(keys);
  for (const key of keys) {
    const opened = open(key);
    if (opened !== undefined) return opened;
  }
  return undefined;
}
