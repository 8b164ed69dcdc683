/** The pages that mails lead to, each with a secret behind `#`. */
export type LinkedPage = 'verify-email' | 'reset-password' | 'invitations';

const keyOf = (page: LinkedPage): string => `sotto.link.${page}`;

/**
 * Takes the secret out of a mail's link into this tab's storage and out of the address bar, so that no history, picture
 * of the screen or address to come back to carries it. To be called before anything else reads the address.
 */
export function takeLinkToken(page: LinkedPage): void {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token');
  if (token === null || token === '') return;
  sessionStorage.setItem(keyOf(page), token);
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
}

/** The secret of the link that led here; null where none did, or it was used. */
export const linkToken = (page: LinkedPage): string | null => sessionStorage.getItem(keyOf(page));

export const forgetLinkToken = (page: LinkedPage): void => sessionStorage.removeItem(keyOf(page));
