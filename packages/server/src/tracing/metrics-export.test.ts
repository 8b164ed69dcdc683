import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { genAiProvider } from './conventions.ts';
import { openMetricsExport } from './metrics-export.ts';

const bodies: unknown[] = [];
let status = 200;
const server = createServer((request, response) => {
  let text = '';
  request.on('data', (piece) => {
    text += String(piece);
  });
  request.on('end', () => {
    bodies.push(JSON.parse(text));
    response.writeHead(status).end();
  });
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => void server.close(resolve)));

it('sends the allowed metrics with the names, units and attributes of the conventions, and nothing else', async () => {
  const registry = new Registry();
  const registers = [registry];
  const labelNames = ['gen_ai_operation_name', 'gen_ai_provider_name', 'error_type', 'account'];
  const name = 'gen_ai_client_inference_duration_seconds';
  const duration = new Histogram({ name, help: 'How long.', labelNames, buckets: [0.1, 1], registers });
  const labels = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'acme', account: 'LEAK' };
  for (const seconds of [0.05, 0.5, 0.5, 7]) duration.observe({ ...labels, error_type: '' }, seconds);
  duration.observe({ ...labels, error_type: 'timeout' }, 1);
  new Counter({ name: 'sotto_charged_usd_total', help: 'Sum.', registers }).inc(0.25);
  new Gauge({ name: 'sotto_holds_open', help: 'Not sent.', registers }).set(1);
  let now = 1_700_000_000_000;
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1/metrics`;
  const send = openMetricsExport({ service: 'sotto-test', url, registry, now: () => now });
  now += 1000;
  await send?.();
  const times = { startTimeUnixNano: '1700000000000000000', timeUnixNano: '1700000001000000000' };
  const of = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const call = [of('gen_ai.operation.name', 'chat'), of('gen_ai.provider.name', 'acme')];
  expect(bodies).toEqual([
    {
      resourceMetrics: [
        {
          resource: { attributes: [of('service.name', 'sotto-test')] },
          scopeMetrics: [
            {
              scope: { name: 'sotto' },
              metrics: [
                {
                  ...{ name: 'gen_ai.client.inference.duration', unit: 's', description: 'How long.' },
                  histogram: {
                    aggregationTemporality: 2,
                    dataPoints: [
                      {
                        ...{ ...times, count: '4', sum: 8.05, explicitBounds: [0.1, 1], bucketCounts: ['1', '2', '1'] },
                        attributes: call,
                      },
                      {
                        ...{ ...times, count: '1', sum: 1, explicitBounds: [0.1, 1], bucketCounts: ['0', '1', '0'] },
                        attributes: [...call, of('error.type', 'timeout')],
                      },
                    ],
                  },
                },
                {
                  ...{ name: 'sotto.charged', unit: '{USD}', description: 'Sum.' },
                  sum: {
                    aggregationTemporality: 2,
                    isMonotonic: true,
                    dataPoints: [{ ...times, asDouble: 0.25, attributes: [] }],
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  ]);
  status = 503;
  await expect(send?.()).rejects.toThrow('not taken');
  expect(openMetricsExport({ service: 'x', url: undefined, registry, now: () => 0 })).toBeUndefined();
});

it('providers have their well-known names', () => {
  expect(['openai', 'gemini', 'bedrock/us-east-1', 'xai', 'acme/eu', 'other'].map(genAiProvider)).toEqual([
    'openai',
    'gcp.gemini',
    'aws.bedrock',
    'x_ai',
    'acme',
    'other',
  ]);
});
