import { describe, expect, it } from 'vitest';
import { describeConformance } from '../../contract/conformance/suite.ts';

await describeConformance(
  'connected apps, limited',
  [
    (suite) => {
      describe('the rate limit of control', () => {
        it("holds on the protocol's endpoints, and is told in OAuth's shape", async () => {
          const ask = (): Promise<Response> =>
            fetch(`${suite.service.controlUrl}/connect/token`, { method: 'POST', body: new URLSearchParams() });
          const statuses: number[] = [];
          let last = await ask();
          for (; last.status !== 429 && statuses.length < 100; last = await ask()) statuses.push(last.status);
          expect(new Set(statuses)).toEqual(new Set([400]));
          expect(last.status).toBe(429);
          expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(last.headers.get('x-request-id')).toMatch(/^req_/);
          expect(await last.json()).toMatchObject({
            error: 'temporarily_unavailable',
            error_description: expect.any(String),
          });
        });

        it('is not evaded by credentials that are made up, where each request leaves a row', async () => {
          const url = `${suite.service.controlUrl}/connect/authorize?client_id=none`;
          const statuses = await Promise.all(
            Array.from({ length: 100 }, async (_, call) => {
              const made = { authorization: `Bearer made-up-${call}`, cookie: `sotto.session_token=made.up${call}` };
              const answer = await fetch(url, { headers: made, redirect: 'manual' });
              await answer.body?.cancel();
              return answer.status;
            }),
          );
          expect(statuses).toContain(429);
        });
      });
    },
  ],
  {},
  { CONNECTED_APPS: 'on', RATE_LIMIT_CONTROL: '60' },
);
