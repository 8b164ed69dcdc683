import type { AppAnswer, AppScope, CreateApp } from '@sotto/wire';

/** An app as somebody types it: addresses one a line. */
export interface AppDraft {
  readonly name: string;
  readonly homepage: string;
  readonly type: CreateApp['type'];
  readonly redirects: string;
  readonly logoutRedirects: string;
  readonly scopes: readonly AppScope[];
}

export const emptyDraft: AppDraft = {
  name: '',
  homepage: '',
  type: 'confidential',
  redirects: '',
  logoutRedirects: '',
  scopes: ['openid', 'inference'],
};

export const draftOf = (app: AppAnswer): AppDraft => ({
  name: app.name,
  homepage: app.homepage,
  type: app.type,
  redirects: app.redirect_uris.join('\n'),
  logoutRedirects: app.post_logout_redirect_uris.join('\n'),
  scopes: app.scopes,
});

/** What a draft asks the service for, which checks it. */
export const requestOf = (draft: AppDraft): CreateApp => ({
  name: draft.name,
  homepage: draft.homepage.trim(),
  type: draft.type,
  redirect_uris: linesOf(draft.redirects),
  post_logout_redirect_uris: linesOf(draft.logoutRedirects),
  scopes: [...draft.scopes],
});

/** Whether saving ends what people have allowed the app: other redirect URIs do. */
export function endsGrants(app: AppAnswer, draft: AppDraft): boolean {
  const asked = linesOf(draft.redirects);
  return asked.length !== app.redirect_uris.length || asked.some((uri) => !app.redirect_uris.includes(uri));
}

/** The field of the form that an error's `param`, such as `redirect_uris.0`, is about. */
export const fieldOf = (param: string | undefined): string | undefined => param?.split('.', 1)[0];

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
