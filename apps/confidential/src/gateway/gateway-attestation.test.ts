import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BusyError, GatewayAttestation, OneAtATime } from './gateway-attestation.ts';
import { KeySetKeeper, makeReceiptKey } from './key-set-keeper.ts';

const nonce = 'ab'.repeat(32);
const origin = 'https://broker.example';

function attestation(produce: EvidenceProducer['produce']) {
  const told: object[] = [];
  const keySets = new KeySetKeeper({
    origin,
    tlsKeys: undefined,
    receiptKey: makeReceiptKey().named,
    registryDigest: '00'.repeat(32),
    now: Date.now,
  });
  const producer: EvidenceProducer = {
    kind: 'dstack',
    produce,
    refresh: async () => {},
  };
  const onFailed = (fields: object) => told.push(fields);
  return { told, gateway: new GatewayAttestation({ producer, keySets, origin, provenance: undefined, onFailed }) };
}

afterEach(() => {
  vi.useRealTimers();
});

it('states key set, nonce, origin and purpose, and nothing else', async () => {
  let stated = '';
  const { gateway } = attestation(async (statement) => {
    stated = new TextDecoder().decode(statement);
    return { tee_type: 'tdx', quote: '' };
  });
  const document = await gateway.evidenceFor(nonce);
  expect(document).not.toHaveProperty('provenance');
  expect(JSON.parse(stated)).toEqual({
    keyset_digest: expect.stringMatching(/^sha256:/),
    nonce,
    origin,
    purpose: 'sotto.gateway.report_data.v1',
  });
});

it('answers 503 if the machine gives no evidence, and hides the reason from the client', async () => {
  const { gateway, told } = attestation(async () => {
    throw new EvidenceError('EACCES', 'secret detail');
  });
  const error = await gateway.evidenceFor(nonce).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ type: 'service_unavailable', retryAfterS: 5 });
  expect(String(error)).not.toMatch(/secret|EACCES/);
  expect(told).toEqual([{ producer: 'dstack', code: 'EACCES' }]);
});

it('reports a quote that does not come, once, and lets no caller wait forever', async () => {
  vi.useFakeTimers();
  const { gateway, told } = attestation(() => new Promise(() => {}));
  const asked = Array.from({ length: 12 }, () => gateway.evidenceFor(nonce).catch((thrown: unknown) => thrown));
  await vi.advanceTimersByTimeAsync(20_000);
  for (const error of await Promise.all(asked)) {
    expect(error).toMatchObject({ type: 'service_unavailable', retryAfterS: 2 });
  }
  expect(told).toEqual([{ producer: 'dstack', code: 'slow' }]);
});

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

  it('goes on after a failure', async () => {
    const queue = new OneAtATime({ maxWaiting: 1, patienceMs: 10_000 });
    await expect(queue.run(() => Promise.reject(new Error('no quote')))).rejects.toThrow('no quote');
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
