import { StateUnavailableError } from '@sotto/state';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { controlEvents } from './events.ts';

/** The events of control at a time that the test sets, and the lines that they wrote. */
function written() {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const clock = { ms: 0 };
  return { events: controlEvents(logger, () => clock.ms), lines, clock };
}

describe('the log of control', () => {
  it('names a Postgres that hangs, once a minute for each task', () => {
    const { events, lines, clock } = written();
    const hangs = () => new Error('timeout exceeded when trying to connect');
    for (const task of ['settler', 'alerts', 'settler', 'settler']) events.taskFailed(task, hangs());
    clock.ms = 61_000;
    events.taskFailed('settler', hangs());
    const line = { msg: 'task failed', cause: 'connection_timeout' };
    expect(lines).toMatchObject([
      { ...line, task: 'settler' },
      { ...line, task: 'alerts' },
      { ...line, task: 'settler', repeats: 2 },
    ]);
  });

  it('has no line of tasks that begin before Redis is connected, and one if it still does not answer', () => {
    const { events, lines, clock } = written();
    const fail = () => events.taskFailed('settler', new StateUnavailableError('no answer'));
    fail();
    expect(lines).toEqual([]);
    clock.ms = 5_000;
    fail();
    expect(lines).toMatchObject([{ msg: 'task waits for the shared state', reason: 'no answer' }]);
  });

  it('names the workspace of an alert that was not delivered, and the setting that allows its address', () => {
    const { events, lines } = written();
    const failed = { alertId: 'a', workspaceId: 'w', by: 'webhook', isGivenUp: false } as const;
    events.alertFailed({ ...failed, failure: 'address_not_public' });
    events.alertFailed({ ...failed, failure: 'timeout' });
    expect(lines).toMatchObject([
      { workspaceId: 'w', failure: 'address_not_public', fix: 'allow its network with webhooks.networks' },
      { workspaceId: 'w', failure: 'timeout' },
    ]);
    expect(lines[1]).not.toHaveProperty('fix');
  });
});
