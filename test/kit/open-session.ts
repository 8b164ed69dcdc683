import { createHmac, hash, randomBytes, randomUUID } from 'node:crypto';
import type { HeaderMap } from './send.ts';
import type { Service } from './service.ts';

/**
 * Opens a session of a user, as a sign-in does. A sign-in checks the password, which takes a tenth of a second of CPU, so tests of something
 * else do without.
 */
export async function openSession(
  { pool, secrets }: Pick<Service, 'pool' | 'secrets'>,
  email: string,
): Promise<HeaderMap> {
  const token = randomBytes(24).toString('base64url');
  await pool.query(
    `insert into auth_session (id, token, user_id, expires_at)
     select $1, $2, id, now() + interval '30 days' from auth_user where email = $3`,
    [randomUUID(), hash('sha256', token, 'base64url'), email],
  );
  const signature = createHmac('sha256', secrets.SESSION_SECRET).update(token).digest('base64');
  return { cookie: `sotto.session_token=${encodeURIComponent(`${token}.${signature}`)}` };
}
