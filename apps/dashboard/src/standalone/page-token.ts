const storageName = 'sotto.playground.token';

/**
 * Takes the token of `sotto playground` out of the address, where the command printed it as the fragment. This tab keeps it, so
 * that a reload works. Returns whether there was one.
 */
export function takeToken(): boolean {
  const [, token] = /^#([\w-]{1,200})$/.exec(window.location.hash) ?? [];
  if (token === undefined) return false;
  sessionStorage.setItem(storageName, token);
  window.history.replaceState(null, '', window.location.pathname);
  return true;
}

/** The token that the command asks for. Empty: the command will say what to do. */
export const pageToken = (): string => sessionStorage.getItem(storageName) ?? '';
