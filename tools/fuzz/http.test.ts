import { afterAll, beforeAll, expect, it } from 'vitest';
import { fuzzHttp } from './http/fuzz-http.ts';
import { operationCount } from './http/make-request.ts';
import { type HttpWorld, startHttpWorld } from './http/world.ts';

// Runs for a minute at most. `npm run fuzz -- http` runs longer.

let world: HttpWorld;
beforeAll(async () => {
  world = await startHttpWorld();
});
afterAll(() => world.stop());

it('no request gets status 500, an error outside the envelope, or its own content back', async () => {
  const { findings, requests, operations, byStatus } = await fuzzHttp(world, {
    requests: 4_000,
    seed: Date.now() % 1_000_000,
    until: Date.now() + 45_000,
  });
  expect(findings).toEqual([]);
  expect(requests).toBeGreaterThan(200);
  expect(operations.size).toBeGreaterThan(operationCount / 2);
  // Ensures that the requests get past the first check.
  expect(byStatus[200]).toBeGreaterThan(requests / 50);
  await world.service.settled(world.account);
  const audit = await world.service.runControl(['audit']);
  expect(audit.code, audit.output).toBe(0);
}, 120_000);

it('goes on where a busy machine refuses a ticket, and reports any other refusal', async () => {
  const { service, account, session } = world;
  const after = async (status: number) => {
    const mintTicket = () => Promise.reject(new Error(`no ticket: ${status} {}`));
    const { controlUrl, baseUrl } = service;
    const budget = { requests: 60, seed: 1, until: Date.now() + 45_000 };
    const fuzzed = await fuzzHttp({ service: { controlUrl, baseUrl, mintTicket }, account, session }, budget);
    return { requests: fuzzed.requests, reported: fuzzed.findings.filter((finding) => finding.includes('no ticket')) };
  };
  expect(await after(503)).toEqual({ requests: 60, reported: [] });
  expect(await after(500)).toEqual({ requests: 60, reported: ['Error: no ticket: 500 {}'] });
}, 120_000);
