import type { AppAnswer } from '@sotto/contract/control/connect';
import { expect, it } from 'vitest';
import { draftOf, emptyDraft, endsGrants, fieldOf, requestOf } from './app-dialog.tsx';

const app: AppAnswer = {
  id: 'a',
  client_id: 'a',
  name: 'Notebook',
  homepage: 'https://notebook.example',
  type: 'public',
  redirect_uris: ['https://notebook.example/a', 'https://notebook.example/b'],
  post_logout_redirect_uris: [],
  scopes: ['openid'],
  created_at: '2026-11-21T08:00:00.000Z',
  secret_created_at: null,
};

it('reads addresses one a line, whatever the spaces', () => {
  const redirects = ' https://a.example/x \r\n\n https://b.example/y\n';
  expect(requestOf({ ...emptyDraft, redirects }).redirect_uris).toEqual(['https://a.example/x', 'https://b.example/y']);
});

it('asks for what an app has, where nothing is changed', () => {
  const { name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes } = app;
  expect(requestOf(draftOf(app))).toEqual({ name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes });
});

it('knows when saving ends grants: with other redirects, not with another order or name', () => {
  const draft = draftOf(app);
  expect(endsGrants(app, draft)).toBe(false);
  expect(endsGrants(app, { ...draft, name: 'x', redirects: app.redirect_uris.toReversed().join('\n') })).toBe(false);
  expect(endsGrants(app, { ...draft, redirects: 'https://notebook.example/a' })).toBe(true);
  expect(endsGrants(app, { ...draft, redirects: `${draft.redirects}\nhttps://c.example/` })).toBe(true);
});

it('finds the field of an error', () => {
  expect(fieldOf('redirect_uris.0')).toBe('redirect_uris');
  expect(fieldOf(undefined)).toBeUndefined();
});
