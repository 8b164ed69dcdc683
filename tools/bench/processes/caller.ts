import { Pool } from 'undici';
import type { Answered, Offer } from '../offered.ts';

/**
 * Requests streams at a fixed rate, regardless of the answers, over as many connections as necessary. Reports that it
 * is ready, gets one order, and reports each answer.
 */
process.send?.({ port: 0 });
process.once('message', (offer: Offer) => {
  void ask(offer).then((answers) => process.send?.(answers));
});
process.once('disconnect', () => process.exit(0));

async function ask({ origin, path, headers, body, perSecond, seconds }: Offer): Promise<Answered[]> {
  const pool = new Pool(origin, { connections: 2000, pipelining: 1, keepAliveTimeout: 60_000 });
  const answers: Promise<Answered>[] = [];
  const startedAt = performance.now();
  const one = (): Promise<Answered> =>
    new Promise((resolve) => {
      const askedAt = performance.now();
      let status = 0;
      let retryAfter = false;
      let ms: number | undefined;
      const over = (): void =>
        resolve({ at: askedAt - startedAt, status, retryAfter, ms: ms ?? performance.now() - askedAt });
      pool.dispatch(
        { path, method: 'POST', headers, body },
        {
          onRequestStart() {},
          onResponseStart(_controller, code, answered) {
            status = code;
            retryAfter = answered['retry-after'] !== undefined;
          },
          onResponseData() {
            ms ??= performance.now() - askedAt;
          },
          onResponseEnd: over,
          onResponseError: over,
        },
      );
    });
  const total = perSecond * seconds;
  while (answers.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) * perSecond) / 1000) + 1);
    while (answers.length < due) answers.push(one());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const all = await Promise.all(answers);
  await pool.destroy();
  return all;
}
