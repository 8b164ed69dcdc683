import { describe, expect, it } from 'vitest';
import { Tracing } from './tracing.ts';

function open({ ratio = 1, random = (): number => 0.5 } = {}) {
  const sent: string[] = [];
  const lost: number[] = [];
  let now = 1_700_000_000_000.25;
  let ids = 0;
  let isDown = false;
  const tracing = new Tracing({
    service: 'sotto-test',
    ratio,
    now: () => now,
    random,
    randomHex: (bytes) => {
      ids += 1;
      return ids.toString(16).padStart(bytes * 2, '0');
    },
    send: async (body) => {
      if (isDown) throw new Error('nobody is there');
      sent.push(body);
    },
    onLost: (spans) => void lost.push(spans),
  });
  return {
    tracing,
    lost,
    spans: () =>
      sent.flatMap((body) => {
        const { resourceSpans } = JSON.parse(body);
        return resourceSpans[0].scopeSpans[0].spans as Record<string, unknown>[];
      }),
    sent,
    pass: (ms: number) => {
      now += ms;
      return now;
    },
    goDown: (down: boolean) => {
      isDown = down;
    },
  };
}

describe('tracing', () => {
  it('sends a request and its parts as one trace, in OTLP’s JSON', async () => {
    const { tracing, sent, pass } = open();
    const trace = tracing.begin('chat');
    const admitted = pass(1.5);
    trace?.step('admission', { from: admitted - 1.5, until: admitted });
    pass(20);
    trace?.step('chat', { from: admitted, until: admitted + 20 }, { 'gen_ai.provider.name': 'acme' }, 'client');
    trace?.end({ 'http.route': '/v1/chat/completions', 'http.response.status_code': 200, 'sotto.attempts': 1 });
    trace?.end({ 'http.response.status_code': 500, 'error.type': 'again' });
    await tracing.flush();
    await tracing.flush();
    expect(sent.map((body) => JSON.parse(body))).toEqual([
      {
        resourceSpans: [
          {
            resource: { attributes: [{ key: 'service.name', value: { stringValue: 'sotto-test' } }] },
            scopeSpans: [
              {
                scope: { name: 'sotto' },
                spans: [
                  {
                    ...{ traceId: '1'.padStart(32, '0'), spanId: '2'.padStart(16, '0'), name: 'chat', kind: 2 },
                    ...{ startTimeUnixNano: '1700000000000250000', endTimeUnixNano: '1700000000021750000' },
                    attributes: [
                      { key: 'http.route', value: { stringValue: '/v1/chat/completions' } },
                      { key: 'http.response.status_code', value: { intValue: '200' } },
                      { key: 'sotto.attempts', value: { intValue: '1' } },
                    ],
                  },
                  {
                    ...{ traceId: '1'.padStart(32, '0'), spanId: '3'.padStart(16, '0') },
                    ...{ parentSpanId: '2'.padStart(16, '0'), name: 'admission', kind: 1, attributes: [] },
                    ...{ startTimeUnixNano: '1700000000000250000', endTimeUnixNano: '1700000000001750000' },
                  },
                  {
                    ...{ traceId: '1'.padStart(32, '0'), spanId: '4'.padStart(16, '0') },
                    ...{ parentSpanId: '2'.padStart(16, '0'), name: 'chat', kind: 3 },
                    ...{ startTimeUnixNano: '1700000000001750000', endTimeUnixNano: '1700000000021750000' },
                    attributes: [{ key: 'gen_ai.provider.name', value: { stringValue: 'acme' } }],
                  },
                ],
              },
            ],
          },
        ],
      },
    ]);
  });

  it('marks spans of failed requests', async () => {
    const { tracing, spans } = open();
    const failed = { 'error.type': 'internal_error' };
    tracing.record('server', 1_700_000_000_000, { ...failed, 'http.response.status_code': 500 });
    tracing.record('caller', 1_700_000_000_000, { ...failed, 'http.response.status_code': 400 });
    const trace = tracing.begin('parent');
    trace?.step('provider', { from: 1, until: 2 }, failed, 'client');
    trace?.end({ 'http.response.status_code': 200 });
    await tracing.flush();
    // A server has not failed if its caller is at fault.
    expect(spans().map(({ name, status }) => [name, status])).toEqual([
      ['server', { code: 2 }],
      ['caller', undefined],
      ['parent', undefined],
      ['provider', { code: 2 }],
    ]);
  });

  it('traces the configured part of the requests', () => {
    let at = 0;
    const { tracing } = open({ ratio: 0.25, random: () => (at++ % 100) / 100 });
    const traced = Array.from({ length: 1000 }, () => tracing.begin('chat')).filter((trace) => trace !== undefined);
    expect(traced).toHaveLength(250);
    expect(open({ ratio: 0, random: () => 0 }).tracing.begin('chat')).toBeUndefined();
  });

  it('keeps a limited number of spans until a flush, which reports how many were lost', async () => {
    const { tracing, lost, spans, goDown } = open();
    for (let index = 0; index < 5000; index += 1) tracing.record('chat', 0, {});
    goDown(true);
    await tracing.flush();
    expect(lost).toEqual([5000]);
    goDown(false);
    tracing.record('chat', 0, {});
    await tracing.flush();
    expect(lost).toEqual([5000]);
    expect(spans()).toHaveLength(1);
    for (let index = 0; index < 5000; index += 1) tracing.record('chat', 0, {});
    await tracing.flush();
    expect(lost).toEqual([5000, 904]);
    expect(spans()).toHaveLength(1 + 4096);
  });
});
