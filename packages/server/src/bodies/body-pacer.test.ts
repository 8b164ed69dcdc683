import { expect, it } from 'vitest';
import { BodyPacer } from './body-pacer.ts';

/** A process whose clock moves only when a body takes time, or when it rests. */
function pacing() {
  let now = 0;
  const turn: (() => void)[] = [];
  const timers: { readonly task: () => void; readonly ms: number }[] = [];
  const pacer = new BodyPacer({
    now: () => now,
    afterThisTurn: (task) => void turn.push(task),
    after: (task, ms) => void timers.push({ task, ms }),
  });
  return {
    take: (name: string, ms: number, handled: string[]) =>
      pacer.take(() => {
        handled.push(name);
        now += ms;
      }),
    endTurn: () => {
      for (const task of turn.splice(0)) task();
    },
    rest: () => {
      const [timer] = timers.splice(0, 1);
      now += timer?.ms ?? 0;
      timer?.task();
      return timer?.ms;
    },
  };
}

it('handles large bodies one after the other, with five times as long for others in between', () => {
  const { take, endTurn, rest } = pacing();
  const handled: string[] = [];
  take('a', 100, handled);
  take('b', 30, handled);
  take('c', 10, handled);
  expect(handled).toEqual(['a']);
  endTurn();
  expect(handled).toEqual(['a']);
  expect(rest()).toBe(500);
  expect(handled).toEqual(['a', 'b']);
  endTurn();
  expect(rest()).toBe(150);
  endTurn();
  expect(rest()).toBe(50);
  // The line is empty, so the next one is handled at once.
  take('d', 10, handled);
  expect(handled).toEqual(['a', 'b', 'c', 'd']);
});

it('goes on after a body whose handler throws', () => {
  const { take, endTurn, rest } = pacing();
  const handled: string[] = [];
  const failing = { push: () => expect.fail('injected') } as unknown as string[];
  expect(() => take('a', 10, failing)).toThrow('injected');
  take('b', 10, handled);
  endTurn();
  rest();
  expect(handled).toEqual(['b']);
});
