/** What Node is given before a program of ours that it runs from its sources. */
export const fromSource: readonly string[] = [
  '--conditions=@sotto/source',
  '--disable-warning=ExperimentalWarning',
  `--import=${new URL('compile-cache.ts', import.meta.url).href}`,
];
