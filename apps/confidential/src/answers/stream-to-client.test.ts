import { EventEmitter } from 'node:events';
import type { Route } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { type Deadline, Deadlines, type Expiry } from '../attempts/deadline.ts';
import type { StreamSink } from '../attempts/outlet.ts';
import type { InferenceRequest } from '../inference-request.ts';
import { type ServedStream, type StreamFlow, streamToClient } from './stream-to-client.ts';

// As of chats.
const heldBackFromMs = 0;
const stalledFromMs = 1000;

/** A stream of one piece that is open, to a client that takes it or does not. */
function setup({ takes = true, isWhole = false } = {}) {
  const clock = { now: 0 };
  const deadline = new Deadlines().open(60_000);
  const response = Object.assign(new EventEmitter(), { write: () => takes });
  const client = { hasLeft: false, response, onLeft() {} };
  const meter = { streamed() {} };
  const inference = { client, deadline, deps: { monotonicNow: () => clock.now, meter }, beginAnswer() {} };
  const calls: string[] = [];
  let sink: StreamSink | undefined;
  const attempt: ServedStream['attempt'] = {
    // As of an attempt of earnest: of one that is over nothing more is said.
    get isWhole() {
      return isWhole && !calls.includes('abort');
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
    const { deadline, flow } = setup({ isWhole: true });
    deadline.expire('shut_down');
    expect((await flow()).end).toBe('shut_down');
  });

  it('knows who has taken nothing for a while', async () => {
    const { clock, deadline, flow, endsAs } = setup({ takes: false });
    const flowing = flow();
    clock.now = stalledFromMs;
    expect(await endsAs(deadline, 'shut_down', flowing)).toBe('shut_down_while_held_back');
  });

  it('holds nothing against who is a moment behind, as with any large piece, or took it in the end', async () => {
    const behind = setup({ takes: false });
    const flowing = behind.flow();
    behind.clock.now = stalledFromMs - 1;
    expect(await behind.endsAs(behind.deadline, 'shut_down', flowing)).toBe('shut_down');

    const took = setup({ takes: false });
    const taken = took.flow();
    took.clock.now = stalledFromMs;
    took.response.emit('drain');
    expect(await took.endsAs(took.deadline, 'shut_down', taken)).toBe('shut_down');
  });

  it.each(['shut_down', 'out_of_time'] as const)(
    'completes an answer that lacks nothing but its closing words (%s)',
    async (why) => {
      const { deadline, flow, endsAs } = setup({ isWhole: true });
      expect(await endsAs(deadline, why, flow())).toBe('complete');
    },
  );

  it.each([true, false])('is told from a provider that breaks (client takes: %s)', async (takes) => {
    const { clock, flow, end } = setup({ takes });
    const flowing = flow();
    clock.now = stalledFromMs;
    end();
    expect((await flowing).end).toBe(takes ? 'broke' : 'broke_while_held_back');
  });
});
