import { createApiKey, type RateStatus, type VersionedKey } from '@sotto/state';
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
let headers: unknown[];
let deps: CredentialDependencies;

beforeEach(() => {
  isRevoked = false;
  peeks = 0;
  headers = [];
  deps = {
    state: {
      peek: async (): Promise<RateStatus | undefined> => {
        peeks += 1;
        return isRevoked ? undefined : rate;
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

  it.each(['invalid_ticket', 'invalid_api_key'] as const)('asks Redis for nothing more if it is %s', async (type) => {
    const error = new ServiceError(type);
    expect(await complete(asking(), error)).toBe(error);
    expect([peeks, headers]).toEqual([0, []]);
  });
});
