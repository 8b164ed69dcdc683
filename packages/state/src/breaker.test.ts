import { expect, test } from 'vitest';
import { Breaker } from './breaker.ts';
import { StateUnavailableError } from './unavailable.ts';

const fails = () => Promise.reject(new Error('Command timed out'));
const answers = () => Promise.resolve('answer');

async function openBreaker(): Promise<{ breaker: Breaker; clock: { now: number } }> {
  const clock = { now: 0 };
  const breaker = new Breaker({ threshold: 3, openMs: 500, now: () => clock.now });
  await Promise.allSettled([breaker.run(fails), breaker.run(fails), breaker.run(fails)]);
  return { breaker, clock };
}

test('fails at once after failures in a row, without calling', async () => {
  const { breaker } = await openBreaker();
  let calls = 0;
  const call = async () => {
    calls += 1;
  };
  await expect(breaker.run(call)).rejects.toMatchObject({
    message: 'state unavailable: circuit open',
    attempted: false,
  });
  expect(calls).toBe(0);
});

test('lets one call through to try, and no other until that one has ended', async () => {
  const { breaker, clock } = await openBreaker();
  clock.now = 500;
  let answer = (_: string): void => {};
  const trial = breaker.run(() => new Promise<string>((resolve) => (answer = resolve)));
  await expect(breaker.run(answers)).rejects.toThrow('circuit open');
  answer('alive');
  await expect(trial).resolves.toBe('alive');
  await expect(breaker.run(answers)).resolves.toBe('answer');
});

test('stays open for another while after a trial that fails', async () => {
  const { breaker, clock } = await openBreaker();
  clock.now = 500;
  await expect(breaker.run(fails)).rejects.toThrow(StateUnavailableError);
  clock.now = 999;
  await expect(breaker.run(answers)).rejects.toThrow('circuit open');
  clock.now = 1000;
  await expect(breaker.run(answers)).resolves.toBe('answer');
});

test('a success in between starts the count anew', async () => {
  const breaker = new Breaker({ threshold: 2, openMs: 500, now: () => 0 });
  await expect(breaker.run(fails)).rejects.toThrow(StateUnavailableError);
  await breaker.run(answers);
  await expect(breaker.run(fails)).rejects.toThrow(StateUnavailableError);
  await expect(breaker.run(answers)).resolves.toBe('answer');
});

test('never opens for what the store refuses, and tells of a foreign error only its kind', async () => {
  const breaker = new Breaker({ threshold: 2, openMs: 500, now: () => 0 });
  const refusal = Object.assign(new Error('WRONGTYPE a secret'), { name: 'ReplyError' });
  for (let count = 0; count < 5; count += 1) {
    await expect(breaker.run(() => Promise.reject(refusal))).rejects.toThrow(
      new StateUnavailableError('ReplyError WRONGTYPE'),
    );
  }
  await expect(breaker.run(answers)).resolves.toBe('answer');
});
