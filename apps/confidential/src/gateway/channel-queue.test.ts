import { randomBytes } from 'node:crypto';
import { type GatewayEvidence, mostLeaves } from '@sotto/attestation';
import { expect, it } from 'vitest';
import { ChannelQueue } from './channel-queue.ts';
import { BusyError, OneAtATime } from './one-at-a-time.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));
const channel = (address: string) => ({ address, nonce: randomBytes(32).toString('hex'), exporter: randomBytes(32) });

/** A queue whose quotes end when the test says so. */
function queue() {
  const turns = new OneAtATime({ maxWaiting: 1, patienceMs: 2_000 });
  const quotes: PromiseWithResolvers<GatewayEvidence>[] = [];
  const roots: string[] = [];
  let begun = 0;
  const channels = new ChannelQueue(turns, (root) => {
    roots.push(root);
    const quote = Promise.withResolvers<GatewayEvidence>();
    quotes.push(quote);
    return quote.promise;
  });
  const ask = (isWanted = () => true, address = '192.0.2.1') =>
    channels.evidenceFor(channel(address), isWanted, () => (begun += 1));
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

it('gives connections their turn before the tasks that wait, although more do than may', async () => {
  const { turns, ask, end } = queue();
  const [running, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tasks = [turns.run(() => running.promise), turns.run(() => waiting.promise)];
  await expect(turns.run(async () => {})).rejects.toBeInstanceOf(BusyError);
  const asked = ask();
  running.resolve();
  await settle();
  end(0);
  expect((await asked).channel?.tree_size).toBe(1);
  waiting.resolve();
  await Promise.all(tasks);
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
  const waiting = Array.from({ length: mostLeaves }, (_, at) => ask(undefined, `192.0.2.${at % 4}`));
  await expect(ask(undefined, '192.0.2.4')).rejects.toBeInstanceOf(BusyError);
  end(0);
  await first;
  await settle();
  quotes[1]?.reject(new Error('no quote'));
  const outcomes = await Promise.allSettled(waiting);
  expect(new Set(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : '')))).toEqual(
    new Set(['no quote']),
  );
});

it('gives one network a quarter of the places at most, and first frees those of connections that have ended', async () => {
  const { ask, end } = queue();
  const first = ask();
  await settle();
  const [one, other] = ['2001:db8::1', '192.0.2.9'];
  let isOpen = true;
  const waiting = Array.from({ length: mostLeaves / 4 }, () => ask(() => isOpen, one));
  const ended = Promise.allSettled(waiting);
  // Another address of the same network.
  await expect(ask(undefined, '2001:db8::2')).rejects.toBeInstanceOf(BusyError);
  const others = [ask(undefined, other)];
  isOpen = false;
  others.push(ask(undefined, one));
  const outcomes = await ended;
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  end(0);
  await first;
  await settle();
  end(1);
  const sizes = Promise.all(others).then((documents) => documents.map(({ channel }) => channel?.tree_size));
  await expect(sizes).resolves.toEqual([2, 2]);
});

it('frees the places of connections that have ended when the queue is full', async () => {
  const { ask, end } = queue();
  const first = ask();
  await settle();
  let isOpen = true;
  const gone = Promise.allSettled(
    Array.from({ length: mostLeaves }, (_, at) => ask(() => isOpen, `192.0.2.${at % 4}`)),
  );
  isOpen = false;
  const late = ask(undefined, '192.0.2.4').then(({ channel }) => channel?.tree_size);
  late.catch(() => {});
  expect((await gone).every(({ status }) => status === 'rejected')).toBe(true);
  end(0);
  await first;
  await settle();
  end(1);
  await expect(late).resolves.toBe(1);
});
