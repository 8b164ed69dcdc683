import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Deadlines, type Expiry } from '../attempts/deadline.ts';
import type { StreamSink } from '../attempts/flowing-attempt.ts';
import type { ClientLink } from './client-link.ts';
import { type FlowingAnswer, type StreamFlow, streamToClient } from './stream-to-client.ts';

// The value for chats.
const heldBackFromMs = 0;
const stalledFromMs = 1000;

/** Opens a stream of one piece to a client that takes it or does not. */
function setup({ takes = true, isWhole = false, awaitsUsage = false, hasLeft = false } = {}) {
  const clock = { now: 0 };
  const deadline = new Deadlines().open(60_000);
  const response = new EventEmitter();
  let onLeft: (() => void) | undefined;
  const client = {
    ...{ hasLeft, response, write: () => takes },
    onLeft(callback: typeof onLeft) {
      onLeft = callback;
    },
  };
  const calls: string[] = [];
  let sink: StreamSink | undefined;
  const attempt: FlowingAnswer['attempt'] = {
    // As in a real attempt, nothing is left once the attempt was aborted.
    sendRest() {
      if (!isWhole || calls.includes('abort')) return false;
      sink?.write('data: rest\n\n');
      return true;
    },
    abort: () => void calls.push('abort'),
    clientLeft: () => awaitsUsage,
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    flowTo(to) {
      sink = to;
      to.write('data: hello\n\n');
    },
  };
  const flow = (): Promise<StreamFlow> => {
    const flowing = streamToClient(
      { attempt, contentType: 'text/event-stream', heldBackFromMs, hidesOutput: true },
      {
        ...{ client: client as unknown as ClientLink, deadline, monotonicNow: () => clock.now, keepAliveMs: undefined },
        begin: () => void calls.push('begin'),
      },
    );
    void flowing.then(() => deadline.clear());
    return flowing;
  };
  const endsAs = async (why: Expiry, flowing: Promise<StreamFlow>): Promise<string> => {
    deadline.expire(why);
    return (await flowing).end;
  };
  const leave = (): void => {
    client.hasLeft = true;
    onLeft?.();
  };
  const end = (ending: 'complete' | 'broke' = 'broke'): void => sink?.end(ending);
  return { clock, calls, response, deadline, flow, endsAs, leave, end };
}

describe('streamToClient during a shutdown', () => {
  it('reports the shutdown to a client that keeps up', async () => {
    const { flow, endsAs, calls } = setup();
    expect(await endsAs('shut_down', flow())).toBe('shut_down');
    expect(calls).toEqual(['begin', 'abort']);
  });

  it('reports the shutdown if nothing was sent yet', async () => {
    const { deadline, flow } = setup({ isWhole: true });
    deadline.expire('shut_down');
    expect((await flow()).end).toBe('shut_down');
  });

  it('recognizes a client that has taken nothing for 1 s', async () => {
    const { clock, flow, endsAs } = setup({ takes: false });
    const flowing = flow();
    clock.now = stalledFromMs;
    expect(await endsAs('shut_down', flowing)).toBe('shut_down_while_held_back');
  });

  it('does not blame a client that is briefly behind, as with any large piece, or that caught up', async () => {
    const behind = setup({ takes: false });
    const flowing = behind.flow();
    behind.clock.now = stalledFromMs - 1;
    expect(await behind.endsAs('shut_down', flowing)).toBe('shut_down');

    const took = setup({ takes: false });
    const taken = took.flow();
    took.clock.now = stalledFromMs;
    took.response.emit('drain');
    expect(await took.endsAs('shut_down', taken)).toBe('shut_down');
  });

  it.each(['shut_down', 'out_of_time'] as const)(
    'completes an answer that lacks only its closing words (%s)',
    async (why) => {
      const { flow, endsAs } = setup({ isWhole: true });
      const flowing = flow();
      expect(await endsAs(why, flowing)).toBe('complete');
      expect((await flowing).pieces).toBe(2);
    },
  );

  it.each([true, false])('reports a provider that breaks as such (client takes: %s)', async (takes) => {
    const { clock, flow, end } = setup({ takes });
    const flowing = flow();
    clock.now = stalledFromMs;
    end();
    expect((await flowing).end).toBe(takes ? 'broke' : 'broke_while_held_back');
  });
});

describe('streamToClient of a client that leaves', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends the attempt at once where no usage is to come', async () => {
    const { flow, leave, calls } = setup();
    const flowing = flow();
    leave();
    expect((await flowing).end).toBe('client_left');
    expect(calls).toEqual(['begin', 'abort']);
  });

  it('lets the attempt run until its usage has come, and takes in what the client held back', async () => {
    const { flow, leave, end, calls } = setup({ awaitsUsage: true, takes: false });
    const flowing = flow();
    leave();
    expect(calls).toEqual(['begin', 'pause', 'resume']);
    end('complete');
    expect((await flowing).end).toBe('client_left');
  });

  it('waits for the usage for at most five seconds', async () => {
    const { flow, leave, calls } = setup({ awaitsUsage: true });
    const flowing = flow();
    leave();
    vi.advanceTimersByTime(4_999);
    expect(calls).toEqual(['begin']);
    vi.advanceTimersByTime(1);
    expect((await flowing).end).toBe('client_left');
    expect(calls).toEqual(['begin', 'abort']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('counts no silence after it has left', async () => {
    const { flow, leave, end, clock } = setup({ awaitsUsage: true });
    const flowing = flow();
    clock.now = 1_500;
    leave();
    clock.now = 5_000;
    end('complete');
    expect((await flowing).silentMs).toBe(1_500);
  });

  it('awaits the usage too if it left as the output began', async () => {
    const { flow, end, calls } = setup({ awaitsUsage: true, hasLeft: true });
    const flowing = flow();
    expect(calls).toEqual([]);
    end('complete');
    expect((await flowing).end).toBe('client_left');
  });
});
