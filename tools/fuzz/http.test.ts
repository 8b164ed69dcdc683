import { afterAll, beforeAll, expect, it } from 'vitest';
import { fuzzHttp } from './http/fuzz-http.ts';
import { operationCount } from './http/make-request.ts';
import { type HttpWorld, startHttpWorld } from './http/world.ts';

// A minute at most; `npm run fuzz -- http` goes on for longer.

let world: HttpWorld;
beforeAll(async () => {
  world = await startHttpWorld();
});
afterAll(() => world.stop());

it('no request, however formed, is answered 500, out of the envelope, or with what it held', async () => {
  const { findings, requests, operations, byStatus } = await fuzzHttp(world, {
    requests: 4_000,
    seed: Date.now() % 1_000_000,
    until: Date.now() + 45_000,
  });
  expect(findings).toEqual([]);
  expect(requests).toBeGreaterThan(200);
  expect(operations.size).toBeGreaterThan(operationCount / 2);
  // They come further than to the first check.
  expect(byStatus[200]).toBeGreaterThan(requests / 50);
  await world.service.settled(world.account);
  const audit = await world.service.runControl(['audit']);
  expect(audit.code, audit.output).toBe(0);
}, 120_000);
