import { randomBytes } from 'node:crypto';
import { until } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { enrolled } from './people.ts';
import { sessionStatus, useWorld, type Visitor } from './world.ts';

const first = randomBytes(32).toString('base64');
const second = randomBytes(32).toString('base64');
const world = await useWorld({ sessionSecrets: [first] });

/** A browser with the cookies of another, at a control with these secrets. */
async function visitorOf(sessionSecrets: readonly [string, string?], before?: Visitor): Promise<Visitor> {
  const visitor = (await world.another({ sessionSecrets })).visitor();
  for (const [name, value] of before?.cookies ?? []) visitor.cookies.set(name, value);
  return visitor;
}

const storedFactors = async (): Promise<readonly string[]> => {
  const { rows } = await world.pool.query<{ text: string }>(
    'select secret || backup_codes as text from auth_two_factor',
  );
  return rows.map(({ text }) => text);
};

it('SESSION_SECRET can be replaced: sessions go on, second factors move to the new one, and the old one opens nothing', async () => {
  const { email, visitor: browser, uri, backupCodes } = await enrolled(world);
  const stored = await storedFactors();

  // A control without the first secret does not accept its cookies. A control with both accepts ann's cookies in either
  // order.
  expect(await sessionStatus(await visitorOf([second], browser))).toBe(401);
  expect(await sessionStatus(await visitorOf([first, second], browser))).toBe(200);
  const moved = await visitorOf([second, first], browser);
  expect(await sessionStatus(moved)).toBe(200);
  expect((await moved.get('/auth/get-session')).json.user.email).toBe(email);
  // Neither secret signed this cookie.
  const forged = await visitorOf([second, first], browser);
  for (const [name, value] of forged.cookies)
    forged.cookies.set(name, (value.startsWith('A') ? 'B' : 'A') + value.slice(1));
  expect(await sessionStatus(forged)).toBe(401);

  await until(
    async () => (await storedFactors()).every((text) => !stored.includes(text)),
    'the factors are sealed anew',
  );
  const later = await visitorOf([second]);
  const asked = await later.post('/auth/sign-in/email', { email, password });
  expect(asked.json).toMatchObject({ twoFactorRedirect: true });
  const next = await later.post('/auth/two-factor/verify-totp', { code: totpCode(uri, Date.now() + 30_000) });
  expect(next.status, next.text).toBe(200);
  expect(await sessionStatus(later)).toBe(200);
  const byCode = await visitorOf([second]);
  await byCode.post('/auth/sign-in/email', { email, password });
  const spent = await byCode.post('/auth/two-factor/verify-backup-code', { code: backupCodes[0] });
  expect(spent.status, spent.text).toBe(200);
});
