import type { DBAdapter } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { hashSessionToken, hashTokens } from './hashed-token-adapter.ts';

interface SessionRow {
  id: string;
  token: string;
  userId: string;
}

const expiresAt = new Date('2030-01-01T00:00:00Z');
const byToken = (token: string) => ({ model: 'session', where: [{ field: 'token', value: token }] });
const byUser = { model: 'session', where: [{ field: 'userId', value: 'u' }] };

let stored: { user: object[]; session: { token?: string }[]; account: object[]; verification: object[] };
let adapter: DBAdapter;

beforeEach(async () => {
  stored = { user: [], session: [], account: [], verification: [] };
  adapter = hashTokens(memoryAdapter(stored)({}));
  for (const token of ['one', 'two']) {
    await adapter.create({ model: 'session', data: { token, userId: 'u', expiresAt, updatedAt: expiresAt } });
  }
});

const storedTokens = () => stored.session.map((row) => row.token);

describe('hashTokens', () => {
  it('stores the hash and returns the plaintext to the creator', async () => {
    const created = await adapter.create<SessionRow>({
      model: 'session',
      data: { token: 'three', userId: 'v', expiresAt, updatedAt: expiresAt } as Omit<SessionRow, 'id'>,
    });
    expect(created.token).toBe('three');
    expect(storedTokens()).toEqual(['one', 'two', 'three'].map(hashSessionToken));
  });

  it('finds by plaintext and gives it back, singly and by list', async () => {
    expect(await adapter.findOne(byToken('one'))).toMatchObject({ token: 'one' });
    const where = [{ field: 'token', value: ['two', 'one', 'none'], operator: 'in' as const }];
    const found = await adapter.findMany<SessionRow>({ model: 'session', where });
    expect(found.map((session) => session.token)).toEqual(['one', 'two']);
    expect(await adapter.count({ model: 'session', where })).toBe(2);
  });

  it('does not accept a stored hash as a token, in any operation', async () => {
    const stolen = byToken(hashSessionToken('one'));
    expect(await adapter.findOne(stolen)).toBeNull();
    expect(await adapter.findMany(stolen)).toEqual([]);
    expect(await adapter.update({ ...stolen, update: { userId: 'thief' } })).toBeNull();
    expect(await adapter.deleteMany(stolen)).toBe(0);
    expect(await adapter.consumeOne(stolen)).toBeNull();
    await adapter.delete(stolen);
    expect(storedTokens()).toHaveLength(2);
  });

  it('returns the hash if the call did not name the token', async () => {
    const listed = await adapter.findMany<SessionRow>(byUser);
    expect(listed.map((session) => session.token)).toEqual(['one', 'two'].map(hashSessionToken));
  });

  it('updates, consumes and deletes by plaintext', async () => {
    expect(await adapter.update({ ...byToken('one'), update: { userId: 'w' } })).toMatchObject({ token: 'one' });
    expect(await adapter.update({ ...byToken('one'), update: { token: 'new' } })).toMatchObject({ token: 'new' });
    expect(storedTokens()).toEqual(['new', 'two'].map(hashSessionToken));
    expect(await adapter.consumeOne(byToken('new'))).toMatchObject({ token: 'new' });
    await adapter.delete(byToken('two'));
    expect(storedTokens()).toEqual([]);
  });

  it('hashes inside transactions too', async () => {
    await adapter.transaction(async (trx) => {
      const data = { token: 'three', userId: 'v', expiresAt, updatedAt: expiresAt };
      await trx.create({ model: 'session', data });
      expect(await trx.findOne(byToken('three'))).toMatchObject({ token: 'three' });
    });
    expect(storedTokens()).toContain(hashSessionToken('three'));
  });

  it('leaves tokens of other models alone', async () => {
    await adapter.create({ model: 'verification', data: { identifier: 'i', value: 'v', expiresAt } });
    const where = [{ field: 'identifier', value: 'i' }];
    expect(await adapter.findOne({ model: 'verification', where })).toMatchObject({ value: 'v' });
  });

  it('refuses to compare hashes by anything but equality', async () => {
    const where = [{ field: 'token', value: 'o', operator: 'starts_with' as const }];
    await expect(adapter.findMany({ model: 'session', where })).rejects.toThrow('starts_with');
  });

  it('hashes identifiers of verifications, and never looks for a plain one', async () => {
    const identifier = 'reset-password:sesame';
    const where = [{ field: 'identifier', value: identifier }];
    const made = await adapter.create({ model: 'verification', data: { identifier, value: 'u', expiresAt } });
    expect(made).toMatchObject({ identifier });
    expect(stored.verification).toMatchObject([{ identifier: hashSessionToken(identifier) }]);
    expect(await adapter.findMany({ model: 'verification', where })).toMatchObject([{ identifier }]);
    for (const stolen of [hashSessionToken(identifier), 'sesame']) {
      const by = [{ field: 'identifier', value: stolen }];
      expect(await adapter.findMany({ model: 'verification', where: by })).toEqual([]);
    }
    // A row in plain text, as if an attacker had inserted it.
    stored.verification.push({ id: 'x', identifier: 'plain', value: 'u', expiresAt });
    expect(await adapter.findMany({ model: 'verification', where: [{ field: 'identifier', value: 'plain' }] })).toEqual(
      [],
    );
    expect(await adapter.deleteMany({ model: 'verification', where })).toBe(1);
  });
});
