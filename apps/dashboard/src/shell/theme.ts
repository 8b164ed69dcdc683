import { useSyncExternalStore } from 'react';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const storageKey = 'sotto.theme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

const isTheme = (text: string | null): text is Theme => themes.some((theme) => theme === text);

function chosenTheme(): Theme {
  const kept = localStorage.getItem(storageKey);
  return isTheme(kept) ? kept : 'system';
}

function apply(): void {
  const theme = chosenTheme();
  const isDark = theme === 'dark' || (theme === 'system' && prefersDark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

/** Shows the page in the reader's theme from its first paint on, and follows the system's. */
export function startTheme(): void {
  prefersDark.addEventListener('change', apply);
  apply();
}

export function useTheme(): { readonly theme: Theme; readonly choose: (theme: Theme) => void } {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosenTheme);
  return {
    theme,
    choose: (chosen) => {
      localStorage.setItem(storageKey, chosen);
      apply();
    },
  };
}
