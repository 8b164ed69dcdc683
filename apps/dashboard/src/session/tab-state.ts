import { useSyncExternalStore } from 'react';

/**
 * State of this tab that outlives the page which shows it. It is in memory alone: gone when the tab closes, reloads, or
 * whoever is signed in signs out.
 */
export interface TabState<Value> {
  /** For components: what it is now. */
  readonly use: () => Value;
  readonly update: (change: (before: Value) => Value) => void;
}

const resets = new Set<() => void>();

export function makeTabState<Value>(initial: Value): TabState<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const update = (change: (before: Value) => Value): void => {
    value = change(value);
    for (const listener of listeners) listener();
  };
  resets.add(() => update(() => initial));
  return { use: () => useSyncExternalStore(subscribe, () => value), update };
}

/** Forgets what pages kept in this tab, the keys in its storage among it. */
export function forgetTab(): void {
  for (const reset of resets) reset();
  sessionStorage.clear();
}
