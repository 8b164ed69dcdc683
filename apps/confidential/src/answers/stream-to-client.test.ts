import { EventEmitter } from 'node:events';
import type { Route } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { type Deadline, Deadlines, type Expiry } from '../attempts/deadline.ts';
import type { StreamSink } from '../attempts/outlet.ts';
import type { InferenceRequest } from '../inference-request.ts';
import { type ServedStream, type StreamFlow, streamToClient } from './stream-to-client.ts';

const heldBackFromMs = 100;

/** A stream of one piece that is open, to a client that takes it or does not. */
function setup({ takes = true, awaitsUsage = false } = {}) {
  const clock = { now: 0 };
  const deadline = new Deadlines().open(60_000);
  const response = Object.assign(new EventEmitter(), { write: () => takes });
  const client = { hasLeft: false, response, onLeft() {} };
  const meter = { streamed() {} };
  const inference = { client, deadline, deps: { monotonicNow: () => clock.now, meter }, beginAnswer() {} };
  const calls: string[] = [];
  let sink: StreamSink | undefined;
  const attempt: ServedStream['attempt'] = {
    // As of an attempt of earnest: one that is over awaits nothing.
    get awaitsUsage() {
      return awaitsUsage && !calls.includes('abort');
    },
    abort: () => void calls.push('abort'),
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    flowTo(to) {
      sink = to;
      to.write('data: hello\n\n');
    },
  };
  const flow = (): Promise<StreamFlow> => {
    const flowing = streamToClient(inference as unknown as InferenceRequest, {
      route: {} as Route,
      attempt,
      contentType: 'text/event-stream',
      heldBackFromMs,
    });
    void flowing.then(() => deadline.clear());
    return flowing;
  };
  const endsAs = async (deadlineOf: Deadline, why: Expiry, flowing: Promise<StreamFlow>): Promise<string> => {
    deadlineOf.expire(why);
    return (await flowing).end;
  };
  return { clock, calls, response, deadline, flow, endsAs, end: () => sink?.end('broke') };
}

describe('streamToClient, where the process goes', () => {
  it('says so to a client that takes what comes', async () => {
    const { deadline, flow, endsAs, calls } = setup();
    expect(await endsAs(deadline, 'shut_down', flow())).toBe('shut_down');
    expect(calls).toEqual(['abort']);
  });

  it('says so before anything was sent', async () => {
    const { deadline, flow } = setup({ awaitsUsage: true });
    deadline.expire('shut_down');
    expect((await flow()).end).toBe('shut_down');
  });

  it('knows who had been holding the stream back, or had just let go', async () => {
    const held = setup({ takes: false });
    const flowing = held.flow();
    held.clock.now = heldBackFromMs;
    expect(await held.endsAs(held.deadline, 'shut_down', flowing)).toBe('shut_down_while_held_back');

    const letGo = setup({ takes: false });
    const released = letGo.flow();
    letGo.clock.now = heldBackFromMs;
    letGo.response.emit('drain');
    letGo.clock.now += 4999;
    expect(await letGo.endsAs(letGo.deadline, 'shut_down', released)).toBe('shut_down_while_held_back');
  });

  it.each([
    ['for a moment', heldBackFromMs - 1, 0],
    ['long ago', heldBackFromMs, 5000],
  ])('holds nothing against who held it back %s', async (_, heldMs, sinceMs) => {
    const { clock, response, deadline, flow, endsAs } = setup({ takes: false });
    const flowing = flow();
    clock.now = heldMs;
    response.emit('drain');
    clock.now += sinceMs;
    expect(await endsAs(deadline, 'shut_down', flowing)).toBe('shut_down');
  });

  it.each(['shut_down', 'out_of_time'] as const)(
    'completes an answer that lacks nothing but its usage (%s)',
    async (why) => {
      const { deadline, flow, endsAs } = setup({ awaitsUsage: true });
      expect(await endsAs(deadline, why, flow())).toBe('complete');
    },
  );

  it.each([true, false])('is told from a provider that breaks (client takes: %s)', async (takes) => {
    const { clock, flow, end } = setup({ takes });
    const flowing = flow();
    clock.now = heldBackFromMs;
    end();
    expect((await flowing).end).toBe(takes ? 'broke' : 'broke_while_held_back');
  });
});
