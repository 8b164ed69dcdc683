import type { AppAnswer } from '@sotto/contract/control/connect';
import { expect, it } from 'vitest';
import { endsGrants } from './app-dialog.tsx';

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

it('knows when saving ends grants: with other redirects, not with another order', () => {
  const [first = '', second = ''] = app.redirect_uris;
  expect(endsGrants(app, `${first}\n${second}`)).toBe(false);
  expect(endsGrants(app, `${second}\n${first}\n`)).toBe(false);
  expect(endsGrants(app, first)).toBe(true);
  expect(endsGrants(app, `${first}\n${second}\nhttps://c.example/`)).toBe(true);
});
