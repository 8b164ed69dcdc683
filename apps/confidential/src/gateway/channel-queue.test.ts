import { randomBytes } from 'node:crypto';
import { type GatewayEvidence, mostLeaves } from '@sotto/attestation';
import { expect, it } from 'vitest';
import { ChannelQueue } from './channel-queue.ts';
import { BusyError, OneAtATime } from './one-at-a-time.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));
const channel = () => ({ nonce: randomBytes(32).toString('hex'), exporter: randomBytes(32) });

/** A queue whose quotes end when the test says so. */
function queue() {
  const turns = new OneAtATime({ maxWaiting: 1, patienceMs: 60_000 });
  const quotes: PromiseWithResolvers<GatewayEvidence>[] = [];
  const roots: string[] = [];
  let begun = 0;
  const channels = new ChannelQueue(turns, (root) => {
    roots.push(root);
    const quote = Promise.withResolvers<GatewayEvidence>();
    quotes.push(quote);
    return quote.promise;
  });
  const ask = (isWanted = () => true) => channels.evidenceFor(channel(), isWanted, () => (begun += 1));
  return {
    turns,
    roots,
    ask,
    begun: () => begun,
    end: (at: number) => quotes[at]?.resolve({} as GatewayEvidence),
    quotes,
  };
}

it('makes one quote for all connections that wait, and the next one for those that came meanwhile', async () => {
  const { roots, ask, end, begun } = queue();
  const first = ask();
  await settle();
  const waiting = Array.from({ length: 20 }, () => ask());
  await settle();
  expect(roots).toHaveLength(1);
  end(0);
  expect((await first).channel).toEqual({ leaf_index: 0, tree_size: 1, path: [] });
  await settle();
  end(1);
  const proofs = (await Promise.all(waiting)).map((document) => document.channel);
  expect(proofs.map((proof) => [proof?.leaf_index, proof?.tree_size])).toEqual(waiting.map((_, at) => [at, 20]));
  expect(new Set(roots).size).toBe(2);
  expect(begun()).toBe(2);
});

it('gives connections their turn although more tasks wait than may', async () => {
  const { turns, ask, end } = queue();
  const slow = Promise.withResolvers<void>();
  const tasks = [turns.run(() => slow.promise), turns.run(async () => {})];
  await expect(turns.run(async () => {})).rejects.toBeInstanceOf(BusyError);
  const asked = ask();
  slow.resolve();
  await Promise.all(tasks);
  await settle();
  end(0);
  expect((await asked).channel?.tree_size).toBe(1);
});

it('leaves out connections that have ended, and makes no quote for nobody', async () => {
  const { roots, ask, end } = queue();
  const first = ask();
  await settle();
  const [gone, stays] = [ask(() => false), ask()];
  end(0);
  await first;
  await expect(gone).rejects.toBeInstanceOf(BusyError);
  end(1);
  expect((await stays).channel?.tree_size).toBe(1);
  await expect(ask(() => false)).rejects.toBeInstanceOf(BusyError);
  expect(roots).toHaveLength(2);
});

it('refuses more connections than one tree has leaves, and fails all of a batch whose quote fails', async () => {
  const { ask, quotes, end } = queue();
  const first = ask();
  await settle();
  const waiting = Array.from({ length: mostLeaves }, () => ask());
  await expect(ask()).rejects.toBeInstanceOf(BusyError);
  end(0);
  await first;
  await settle();
  quotes[1]?.reject(new Error('no quote'));
  const outcomes = await Promise.allSettled(waiting);
  expect(new Set(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : '')))).toEqual(
    new Set(['no quote']),
  );
});
