const words: Readonly<Record<string, string>> = {
  email_not_verified: 'Your address is not verified there. Verify it with the provider, then try again.',
  email_not_found: 'The provider told no address of yours, so there is nothing to sign in with.',
  account_not_linked:
    'An account with your address is here already, and nobody has verified the address. Set its password by mail first.',
  access_denied: 'You did not go through with it at the provider.',
};

/** What to say of the code with which a sign-in at the OpenID provider came back. */
export const errorWords = (code: string): string => words[code] ?? 'Signing in did not work out. Try again.';
