import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ApiError } from '../api/errors.ts';

/** The script of a page could not be loaded. */
export class PageMissingError extends ApiError {
  /** Whether a second try has failed, too. Then the script may be gone, because the service was upgraded. */
  readonly isRepeated: boolean;
  /** Loads the script again. */
  readonly again: () => Promise<unknown>;

  constructor(isRepeated: boolean, again: () => Promise<unknown>) {
    super(
      isRepeated
        ? 'This page still could not be loaded. Sotto may have a new version since you opened this tab. Reload the page to get it.'
        : 'This page could not be loaded. Check your connection, then try again.',
      { type: 'network' },
    );
    this.isRepeated = isRepeated;
    this.again = again;
  }
}

/**
 * A page, or a part of one, whose script is loaded when the user first opens it or points at a link to it. If that fails, the page
 * shows an error with a button to try again. The router would reload the document instead, which loses what other parts
 * hold, and shows the browser's own error page while the service is away. React's `lazy` would fail until a reload.
 */
export function lazyPage<Module extends Record<string, unknown>, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) {
  let isRepeated = false;
  const again = async (): Promise<void> => {
    isRepeated = true;
    await page.preload?.();
  };
  const page = lazyRouteComponent(
    () =>
      load().catch(() => {
        throw new PageMissingError(isRepeated, again);
      }),
    name,
  );
  return page;
}

/**
 * Whether the script of a page or part is loaded, or failed to load. Draw it only from then on: React delays a part that it
 * waits for itself until 300 ms after it drew the fallback.
 */
export function useSettled({ preload }: Pick<AsyncRouteComponent<never>, 'preload'>, isWanted = true): boolean {
  const [isSettled, setSettled] = useState(false);
  // The router forgets how to load what is loaded.
  const isLoaded = preload === undefined;
  useEffect(() => {
    if (isWanted && !isLoaded) void preload()?.then(() => setSettled(true));
  }, [preload, isLoaded, isWanted]);
  return isSettled || isLoaded;
}

const loadedParts = new WeakMap<() => Promise<unknown>, unknown>();
const retryMs = 2_000;

/**
 * A part of every page that is loaded after the first one is shown. Undefined until it is loaded. It tries again while the
 * service is away. `load` must be the same function at each call.
 */
export function usePart<Part>(load: () => Promise<Part>, isWanted = true): Part | undefined {
  const [tries, setTries] = useState(0);
  const part = loadedParts.get(load) as Part | undefined;
  const isMissing = isWanted && part === undefined;
  useEffect(() => {
    if (!isMissing) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const again = (): void => {
      if (!isGone) setTries((count) => count + 1);
    };
    load().then(
      (loaded) => {
        loadedParts.set(load, loaded);
        again();
      },
      () => {
        timer = setTimeout(again, retryMs * 2 ** Math.min(tries, 5));
      },
    );
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [load, isMissing, tries]);
  return part;
}
