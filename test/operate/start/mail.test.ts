import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { openMailbox } from '../../people/accounts/mailbox.ts';
import { endAll, npmStart } from './npm-start.ts';

const folder = await mkdtemp(join(tmpdir(), 'sotto-start-mail-'));
const mailbox = await openMailbox();
afterAll(async () => {
  await endAll();
  await mailbox.stop();
  await rm(folder, { recursive: true, force: true });
});

it('npm start with SMTP_URL sends mail, prints none, knows its demo account, and ends', async () => {
  const started = await npmStart(folder, {
    CONTROL_PORT: String(await freePort()),
    CONFIDENTIAL_PORT: String(await freePort()),
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'no-reply@sotto.example',
  });
  const { control_url: url, email, password } = started.quickstart;
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${url}/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await post('sign-in/email', { email, password })).status).toBe(200);
  const ann = { email: 'ann@people.example', password: 'a long password' };
  expect((await post('sign-up/email', { name: 'Ann', ...ann })).status).toBe(200);
  expect((await post('sign-in/email', ann)).status).toBe(403);
  const token = await mailbox.token(ann.email, 'Confirm your address');
  expect((await post('verify-email', { token, password: ann.password })).status).toBe(200);
  expect((await post('sign-in/email', ann)).status).toBe(200);
  expect(mailbox.countTo(email)).toBe(0);
  expect(started.output()).not.toContain('mail to');
  expect(await started.end('SIGTERM')).toBe(0);
});
