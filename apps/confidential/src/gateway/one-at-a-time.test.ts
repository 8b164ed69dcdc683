import { describe, expect, it } from 'vitest';
import { BusyError, OneAtATime } from './one-at-a-time.ts';

describe('tasks, one at a time', () => {
  /** A task that ends when it is told to. */
  function task(log: string[], name: string) {
    let end: (value: string) => void = () => {};
    const ended = new Promise<string>((resolve) => {
      end = resolve;
    });
    return {
      end: () => end(name),
      run: () => {
        log.push(name);
        return ended;
      },
    };
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('runs tasks one after the other, in order, and rejects a task if too many wait', async () => {
    const queue = new OneAtATime({ maxWaiting: 2, patienceMs: 10_000 });
    const log: string[] = [];
    const [first, second, third] = [task(log, 'first'), task(log, 'second'), task(log, 'third')];
    const answers = [queue.run(first.run), queue.run(second.run), queue.run(third.run)];
    await expect(queue.run(task(log, 'fourth').run)).rejects.toBeInstanceOf(BusyError);
    expect(log).toEqual(['first']);
    first.end();
    await settle();
    expect(log).toEqual(['first', 'second']);
    const fourth = queue.run(async () => 'fourth');
    for (const { end } of [second, third]) end();
    expect(await Promise.all([...answers, fourth])).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('runs a batch before all tasks that wait, however many do, and one task between two batches', async () => {
    const queue = new OneAtATime({ maxWaiting: 3, patienceMs: 10_000 });
    const log: string[] = [];
    const running = task(log, 'running');
    const done = [queue.run(running.run)];
    for (const name of ['first', 'second', 'third']) done.push(queue.run(async () => String(log.push(name))));
    await expect(queue.run(async () => log.push('fourth'))).rejects.toBeInstanceOf(BusyError);
    for (const name of ['batch', 'next batch']) done.push(queue.runBatch(async () => String(log.push(name))));
    running.end();
    await Promise.all(done);
    expect(log).toEqual(['running', 'batch', 'first', 'next batch', 'second', 'third']);
  });

  it('goes on after a failure', async () => {
    const queue = new OneAtATime({ maxWaiting: 1, patienceMs: 10_000 });
    for (const how of ['run', 'runBatch'] as const) {
      await expect(queue[how](() => Promise.reject(new Error('no quote')))).rejects.toThrow('no quote');
    }
    expect(await queue.run(async () => 7)).toBe(7);
  });

  it('begins nothing for a caller that has left, and nothing beside a task that was given up', async () => {
    const queue = new OneAtATime({ maxWaiting: 3, patienceMs: 20 });
    const log: string[] = [];
    const slow = task(log, 'slow');
    const given = queue.run(slow.run);
    const left = queue.run(
      async () => log.push('left'),
      () => false,
    );
    const waited = queue.run(async () => log.push('waited'));
    for (const each of [given, left, waited]) await expect(each).rejects.toBeInstanceOf(BusyError);
    expect(log).toEqual(['slow']);
    const next = queue.run(async () => log.push('next'));
    next.catch(() => {});
    await settle();
    expect(log).toEqual(['slow']);
    slow.end();
    await next;
    expect(log).toEqual(['slow', 'next']);
  });
});
