import { describe, expect, it } from 'vitest';
import { allOf } from '../../kit/answer.ts';
import { disguises, found, hashes, searchable } from './disguises.ts';
import { addresses, content, email, formsOf, identities, idsIn } from './markers.ts';
import type { StageOf } from './stage.ts';

/** Identities and content stay apart, and so do ids that would join them. */
export function apartSuite(stage: StageOf): void {
  describe('no sink', () => {
    it('holds a key, a ticket or another credential; logs do not even hold a hash of one', async () => {
      const all = await stage().allSinks();
      const { tickets, answers } = stage();
      const keys = [stage().account, stage().pauper, stage().limited].flatMap((each) => [
        each.inferenceKey,
        each.managementKey,
      ]);
      expect(tickets.length).toBeGreaterThan(20);
      expect(stage().secrets.size).toBeGreaterThan(20);
      const secrets = [...keys, ...tickets, ...stage().secrets.values()];
      const parts = Object.fromEntries(
        // Looks for the whole secret, and for it without its prefix and the last characters, which identify keys to
        // people.
        secrets.map((secret) => [secret, disguises(secret.startsWith('sotto_') ? secret.slice(10, 60) : secret)]),
      );
      const hashed = (texts: readonly string[]): Record<string, string[]> =>
        Object.fromEntries(texts.map((secret) => [secret, hashes(secret)]));
      for (const [name, sink] of Object.entries(all)) expect(found(searchable(sink), parts), name).toEqual([]);
      // An answer that shows a secret to its owner is not an error.
      const errors = answers.filter(({ status }) => status >= 400).map(allOf);
      expect(found(errors.join('\n'), parts)).toEqual([]);
      for (const log of [all.brokerLog, all.controlLog, all.metrics, all.traces, errors.join('\n')]) {
        expect(found(log ?? '', hashed(secrets))).toEqual([]);
      }
      const { postgres = '', redis = '' } = all;
      expect(found(postgres, hashed(tickets))).toEqual([]);
      // The hashes are where they must be, in that form.
      expect(found(postgres, hashed(keys))).toHaveLength(keys.length);
      expect(found(redis, hashed(tickets)).length).toBeGreaterThan(20);
    });

    it('of the broker, or Redis, knows the identity of a user', async () => {
      const { pool } = stage().service;
      const ids = await idsIn(pool);
      expect(Object.keys(ids).length).toBeGreaterThan(10);
      const people = {
        ...ids,
        email: disguises(email),
        'email, in capitals': disguises(email.toUpperCase()),
      };
      const { brokerLog, redis: stored, postgres: table } = await stage().sinks();
      const { 'broker to Redis': wire = '' } = await stage().allSinks();
      expect(found(searchable(wire), people)).toEqual([]);
      expect(found(table, { email: [email] })).toHaveLength(1);
      expect(found(stored, people)).toEqual([]);
      expect(found(brokerLog, people)).toEqual([]);
      // The broker's log does not name the wallet or the hold either.
      const wallets = await pool.query<{ id: string }>(
        'select wallet_id as id from accounts union select id from settlements',
      );
      expect(found(brokerLog, Object.fromEntries(wallets.rows.map(({ id }) => [id, [id]])))).toEqual([]);
    });

    it('of Redis shows who signs in, or from where, by name or by a hash that can be guessed', async () => {
      const { redis, controlLog } = await stage().sinks();
      // The sign-in limits are counted in Redis, so the search has data.
      expect(found(redis, { limits: ['control:limit:'] })).toHaveLength(1);
      const tries = controlLog.split('/v1/auth/').length;
      expect(tries).toBeGreaterThan(20);
      expect(found(redis, identities(email, addresses))).toEqual([]);
    });

    it('joins ids that must stay apart: request and completion ids stay with their client', async () => {
      const { postgres: rows, redis: stored } = await stage().sinks();
      const ids: Record<string, string[]> = {};
      for (const { headers, text } of stage().answers) {
        const requestId = headers.get('x-request-id');
        if (requestId !== null) ids[requestId] = [requestId];
        // Only whole ids, because some answers broke off.
        for (const [id] of text.matchAll(/chatcmpl-[\w-]{22}/g)) ids[id] = [id, id.slice('chatcmpl-'.length)];
      }
      expect(Object.keys(ids).length).toBeGreaterThan(200);
      expect(found(stored, ids)).toEqual([]);
      expect(found(rows, ids)).toEqual([]);
      const upstream = [...stage().provider.seen, ...stage().second.seen].map(
        ({ headers, text }) => `${JSON.stringify(headers)}\n${text}`,
      );
      expect(found(upstream.join('\n'), ids)).toEqual([]);
      expect(
        found(
          upstream.join('\n'),
          formsOf({ UserAgent: content.UserAgent, Header: content.Header, UnknownField: content.UnknownField }),
        ),
      ).toEqual([]);
    });

    it('helps to guess a credential: each has at least 128 bits, or its tries are counted', () => {
      const bitsOf = (text: string): number => {
        const alphabets = [/^[0-9a-f]+$/, /^[A-Z2-7]+$/, /^[A-Za-z0-9]+$/, /^[\w+/=-]+$/] as const;
        const sizes = [16, 32, 62, 64];
        return text.length * Math.log2(sizes[alphabets.findIndex((alphabet) => alphabet.test(text))] ?? 1);
      };
      // A backup code is a second step after the password. The account is locked after ten tries.
      const counted = new Map([['backup code', 50]]);
      const kinds = new Set<string>();
      for (const [name, secret] of stage().secrets) {
        const kind = name.replace(/ \d+$/, '');
        kinds.add(kind);
        const random = kind === 'backup code' ? secret.replace('-', '') : secret.replace(/^sotto_[a-z]+_/, '');
        expect(bitsOf(random), name).toBeGreaterThanOrEqual(counted.get(kind) ?? 128);
      }
      expect([...kinds].sort()).toEqual(
        ['access token', 'authenticator', 'backup code', 'code', 'invitation', 'key', 'link', 'refresh token'].concat([
          'secret of a webhook',
          'secret of an app',
          'session',
          'verifier',
        ]),
      );
      const all = [...stage().secrets.values(), ...stage().tickets];
      expect(new Set(all).size).toBe(all.length);
    });
  });
}
