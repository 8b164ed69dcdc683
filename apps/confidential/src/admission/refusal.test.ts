import { createApiKey, hashSecret, type RateStatus, type VersionedKey } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CredentialDependencies } from './credential.ts';
import { Exchange } from './exchange.ts';
import { KeyCache } from './key-cache.ts';
import { completeRefusal } from './refusal.ts';

const apiKey = createApiKey('inference');
const rate = { limitRequests: 9, remainingRequests: 8, limitTokens: 9, remainingTokens: 8, resetMs: 1 };

let isRevoked: boolean;
let peeks: number;
let counted: unknown[];
let headers: unknown[];
let deps: CredentialDependencies;

beforeEach(() => {
  isRevoked = false;
  peeks = 0;
  counted = [];
  headers = [];
  deps = {
    state: {
      peek: async (): Promise<RateStatus | undefined> => {
        peeks += 1;
        return isRevoked ? undefined : rate;
      },
      countRefusal: async (refused) => {
        counted.push(refused);
        throw new Error('Redis is full');
      },
    },
    keys: new KeyCache({
      lookupKey: async () =>
        isRevoked ? undefined : ({ record: {}, generation: 'one', shard: 1 } as unknown as VersionedKey),
    }),
    ticketSealingKey: Buffer.alloc(32),
    now: () => 0,
  };
});

const asking = (): Exchange =>
  new Exchange(
    { headers: { authorization: `Bearer ${apiKey}` } } as FastifyRequest,
    { header: (name: string) => headers.push(name) } as unknown as FastifyReply,
  );
const complete = (exchange: Exchange, error: unknown) => completeRefusal(deps, exchange, { accepts: {}, error });

describe('the refusal of a request', () => {
  // Otherwise the broker would trust its cached record of the key and read a large body each time.
  it('stops accepting a key that was revoked since', async () => {
    await asking().credential(deps, {});
    isRevoked = true;
    const asked = asking();
    await asked.credential(deps, {});
    expect(await complete(asked, new ServiceError('invalid_request'))).toMatchObject({ type: 'invalid_api_key' });
    await expect(asking().credential(deps, {})).rejects.toMatchObject({ type: 'invalid_api_key' });
    expect(headers).toEqual([]);
  });

  it('tells the rate limits of a good credential, and reads them once', async () => {
    const error = new ServiceError('invalid_request');
    expect(await complete(asking(), error)).toBe(error);
    expect(headers).toContain('x-ratelimit-remaining-requests');
    expect(peeks).toBe(1);
  });

  it('counts a 403 once by its kind alone, even if Redis cannot', async () => {
    const asked = asking();
    const error = new ServiceError('insufficient_scope', { param: 'model', message: 'not `acme/one`' });
    expect(await complete(asked, error)).toBe(error);
    expect(await complete(asked, error)).toBe(error);
    const keyHash = hashSecret(apiKey);
    expect(counted).toEqual([{ shard: 1, right: { kind: 'key', keyHash, secretHash: keyHash }, kind: 'model' }]);
  });

  it('counts neither what may be about content, nor a key that opens nothing', async () => {
    for (const type of ['invalid_request', 'context_too_large', 'payload_too_large', 'model_not_found'] as const)
      await complete(asking(), new ServiceError(type));
    isRevoked = true;
    await complete(asking(), new ServiceError('compatibility_access_disabled'));
    expect(counted).toEqual([]);
  });

  it.each(['invalid_ticket', 'invalid_api_key'] as const)('asks Redis for nothing more if it is %s', async (type) => {
    const error = new ServiceError(type);
    expect(await complete(asking(), error)).toBe(error);
    expect([peeks, headers]).toEqual([0, []]);
  });
});
