import { createHash, randomBytes } from 'node:crypto';
import { openReceipt, receiptIdOf } from '@sotto/state';
import { withRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../kit/service.ts';
import { disguises, found } from '../canary/disguises.ts';
import { listenToRedis, type RedisEar, readSinks } from '../canary/sinks.ts';
import { open, opened, prepare } from './ask.ts';
import { answerOf, beginSuite, providerKey, type SealedStage } from './world.ts';

/** Pieces of ciphertext from both ends and the middle, long enough not to occur by chance. */
const piecesOf = (bytes: Buffer): string[] =>
  [0.1, 0.5, 0.9].map((at) => bytes.toString('latin1', Math.floor(bytes.length * at)).slice(0, 24));

/** No sink keeps ciphertext or a client's key either. For two processes on one Redis. */
export function canarySuite(stage: SealedStage): void {
  describe('after sealed requests', () => {
    const account = beginSuite(stage);
    let ear: RedisEar;
    beforeAll(async () => {
      ear = await listenToRedis(stage.service.redisUrl ?? '');
    });
    afterAll(() => ear.close());

    it('logs, Postgres, Redis and errors hold nothing of them, whether they succeed or fail', async () => {
      const { service, standIns } = stage;
      const texts: Record<string, string[]> = { 'the provider’s key': [providerKey] };
      const errors: string[] = [];
      for (const provider of standIns.providers) {
        for (const fails of [false, true]) {
          const name = `${provider.kind}, ${fails ? 'failed' : 'served'}`;
          const secret = randomBytes(32).toString('hex');
          const marker = `canary${randomBytes(12).toString('hex')}`;
          provider.reset();
          if (fails) {
            provider.answer(async (request, response) => {
              const { pieces } = await answerOf(provider.enclave, request);
              response.writeHead(500, { 'content-type': 'application/json' });
              response.end(Buffer.concat([...pieces, Buffer.from(marker)]));
            });
          }
          const messages = [{ role: 'user', content: `Say ${marker}` }];
          const prepared = await prepare(service, account, provider, { messages });
          prepared.headers['x-router-receipt'] = secret;
          const answer = await open(service, prepared).answer;
          if (fails) errors.push(JSON.stringify(answer.headers) + answer.bytes.toString('latin1'));
          else expect(await opened(prepared, answer)).toContain(marker);
          const answered = Buffer.concat(provider.seen[0]?.answer?.pieces ?? []);
          texts[`plaintext of ${name}`] = disguises(marker);
          texts[`the request of ${name}`] = piecesOf(prepared.body).flatMap(disguises);
          texts[`the answer of ${name}`] = piecesOf(answered).flatMap(disguises);
          texts[`the secret of ${name}`] = disguises(secret);
          for (const [header, value] of Object.entries(prepared.sealed.headers)) {
            if (value.length > 20 && !header.endsWith('-id') && !value.startsWith('/v1/')) {
              texts[`${header} of ${name}`] = disguises(value);
            }
          }
        }
      }
      await service.settled(account);
      // Waits, because the sinks must contain these requests.
      await until(() => service.logs().includes('sealed/chutes@chutes'), 'the last request is in the log');
      const sinks = await readSinks(service, { ear, errors });
      for (const [name, sink] of Object.entries(sinks)) {
        expect(sink, name).not.toBe('');
        expect(found(sink, texts), name).toEqual([]);
      }
      expect(sinks.redis).toContain('sotto:receipt:gateway:');
    });

    it('a receipt is kept for an hour under the hash of its secret, and tells nothing without it', async () => {
      const { service, standIns } = stage;
      const secret = randomBytes(32).toString('hex');
      const prepared = await prepare(service, account, standIns.provider('near-ed25519'));
      prepared.headers['x-router-receipt'] = secret;
      const answer = await open(service, prepared).answer;
      await withRedis(service.redisUrl ?? '', async (redis) => {
        const keys = await redis.keys('*receipt*');
        const own = keys.filter((key) => key.includes(receiptIdOf(secret)));
        expect(own).toHaveLength(1);
        const ttl = await redis.ttl(own[0] ?? '');
        expect(ttl).toBeGreaterThan(3500);
        expect(ttl).toBeLessThanOrEqual(3600);
        const kept = (await redis.get(own[0] ?? '')) ?? '';
        for (const hidden of [secret, prepared.headers['x-router-ticket'] ?? '', account.accountId]) {
          expect(keys.join() + kept).not.toContain(hidden);
        }
        // A hash of the request would reveal it to anyone who guesses the content.
        const hashes = [prepared.body, answer.bytes].map((bytes) => createHash('sha256').update(bytes).digest('hex'));
        const opened = openReceipt(secret, kept) ?? '';
        for (const hash of hashes) {
          expect(opened).toContain(hash);
          expect(Buffer.from(kept, 'base64').toString('latin1') + kept).not.toContain(hash);
        }
        expect(opened).not.toContain(answer.bytes.toString().slice(20, 60));
      });
    });
  });
}
