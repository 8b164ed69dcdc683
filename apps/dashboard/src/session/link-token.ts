/** The pages that links in mails lead to, each with a secret behind `#`. */
const linkedPages = ['verify-email', 'reset-password', 'invitations'] as const;
type LinkedPage = (typeof linkedPages)[number];

const keyOf = (page: LinkedPage): string => `sotto.link.${page}`;

/**
 * Moves the secret of a mail's link from the address bar to this tab's storage, so that it does not get into the history,
 * a screenshot or `return_to`. Call it before anything else reads the address. Returns whether there was one.
 */
export function takeLinkToken(): boolean {
  const page = linkedPages.find((one) => window.location.pathname === `/${one}`);
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token');
  if (page === undefined || token === null || token === '') return false;
  sessionStorage.setItem(keyOf(page), token);
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  return true;
}

/** The secret of the link that led here; null without one, or once it was used. */
export const linkToken = (page: LinkedPage): string | null => sessionStorage.getItem(keyOf(page));

export const forgetLinkToken = (page: LinkedPage): void => sessionStorage.removeItem(keyOf(page));
