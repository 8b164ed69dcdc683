import { useSyncExternalStore } from 'react';

/**
 * State of this tab that outlives the page which shows it. It is in memory only: it is lost when the tab closes or
 * reloads, and when the user signs out.
 */
export interface TabState<Value> {
  /** Hook: the current value. */
  readonly use: () => Value;
  readonly now: () => Value;
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
  const now = (): Value => value;
  return { use: () => useSyncExternalStore(subscribe, now), now, update };
}

/** Forgets everything that pages kept in this tab, including the keys in its storage. */
export function forgetTab(): void {
  for (const reset of resets) reset();
  sessionStorage.clear();
}
