import type { AppScope } from '@sotto/wire';

/** Scopes in short, for lists, and what they let an app do. */
export const scopeWords: Readonly<Record<AppScope, { readonly name: string; readonly text: string }>> = {
  openid: { name: 'Sign-in', text: 'Knows people by a name that is made for this app alone.' },
  email: { name: 'Email', text: 'Sees their email address.' },
  inference: { name: 'Requests', text: 'Sends requests to models, up to a limit that each person sets.' },
  'usage:read': { name: 'Usage', text: 'Sees the usage of a workspace and, where it is theirs, the balance.' },
};
