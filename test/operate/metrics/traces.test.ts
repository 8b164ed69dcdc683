import { until } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { ask, bearer } from '../../kit/client.ts';
import { startCollector } from '../../kit/collector.ts';
import { answerChat } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';

const marker = 'zebra-4b1c';
const model = 'm/one';

/** The only names of attributes: of HTTP and of generative AI in OpenTelemetry's semantic conventions, and one of our own. */
const attributes = new Set([
  ...['http.request.method', 'http.route', 'http.response.status_code', 'url.scheme', 'error.type'],
  ...['gen_ai.operation.name', 'gen_ai.provider.name', 'sotto.attempts'],
]);
const chat = 'POST /v1/chat/completions';

await describeStage(
  'traces',
  async () => {
    const collector = await startCollector();
    return {
      ...oneModel,
      environment: { TRACES_URL: collector.url, TRACES_RATIO: '1', METRICS_URL: collector.metricsUrl },
      standIns: { collector },
      stop: () => collector.stop(),
    };
  },
  (stage) => {
    const body = { model, messages: [{ role: 'user', content: marker }], max_tokens: 10 };
    const spansOf = (service: string) => stage.standIns.collector.spans().filter((span) => span.service === service);
    /** How many requests the broker has told of. */
    const chats = (): number => spansOf('sotto-broker').filter(({ name }) => name === chat).length;
    const traced = (name: string, status: string) =>
      spansOf('sotto-broker').find(
        (span) => span.name === name && span.attributes['http.response.status_code'] === status,
      );

    it('show a request with its parts, and never two planes in one trace', async () => {
      const account = await stage.service.createAccount();
      expect(
        (await ask(stage.service, account.inferenceKey, { ...body, stream: true }, { flow: 'ticket' })).complete,
      ).toBe(true);
      await until(() => traced(chat, '200') !== undefined, 'the broker has told');
      const root = traced(chat, '200');
      expect(root).toMatchObject({ kind: 2 });
      expect(root?.attributes).toEqual({
        ...{ 'http.request.method': 'POST', 'http.route': '/v1/chat/completions', 'http.response.status_code': '200' },
        ...{ 'url.scheme': 'http', 'sotto.attempts': '1' },
      });
      const parts = spansOf('sotto-broker').filter(({ parentSpanId }) => parentSpanId === root?.spanId);
      expect(parts.map(({ name, kind, attributes: said }) => [name, kind, said])).toEqual([
        ['admission', 1, {}],
        ['chat', 3, { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'alpha' }],
      ]);
      const [from, end] = [BigInt(root?.startTimeUnixNano ?? 0), BigInt(root?.endTimeUnixNano ?? 0)];
      for (const part of parts) {
        expect(BigInt(part.startTimeUnixNano)).toBeGreaterThanOrEqual(from);
        expect(BigInt(part.endTimeUnixNano)).toBeLessThanOrEqual(end);
        expect(BigInt(part.endTimeUnixNano)).toBeGreaterThan(BigInt(part.startTimeUnixNano));
      }
      const minted = () => spansOf('sotto-control').find(({ name }) => name === 'POST /v1/inference/tickets');
      await until(() => minted() !== undefined, 'control has told');
      const ofControl = new Set(spansOf('sotto-control').map(({ traceId }) => traceId));
      expect(spansOf('sotto-broker').filter(({ traceId }) => ofControl.has(traceId))).toEqual([]);
    });

    it('accept no context from a caller, and pass none on to a provider', async () => {
      const account = await stage.service.createAccount();
      const before = chats();
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const answered = await post(`${stage.service.baseUrl}/chat/completions`, body, {
        ...bearer(account.inferenceKey),
        traceparent,
      });
      expect(answered.status).toBe(200);
      expect(stage.provider('alpha').seen.at(-1)?.headers).not.toHaveProperty('traceparent');
      await until(() => chats() > before, 'it is told');
      expect(stage.standIns.collector.heard()).not.toContain('0af7651916cd43dd8448eb211c80319c');
    });

    it('say how a request failed', async () => {
      const account = await stage.service.createAccount();
      stage.provider('alpha').answer((_request, response) => void response.writeHead(500).end('{}'));
      const failed = await post(`${stage.service.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
      stage.provider('alpha').answer(answerChat());
      expect(failed.status).toBe(502);
      const refused = await post(
        `${stage.service.baseUrl}/chat/completions`,
        {
          model: 'acme/none',
          messages: [],
        },
        bearer(account.inferenceKey),
      );
      expect(refused.status).toBeGreaterThanOrEqual(400);
      await until(() => traced(chat, '502') !== undefined, 'the failure is told');
      expect(traced(chat, '502')?.attributes['error.type']).toBe('provider_error');
      await until(() => traced(chat, String(refused.status)) !== undefined, 'the refusal is told');
    });

    it('contain no identity and no content', async () => {
      const account = await stage.service.createAccount();
      const before = chats();
      for (const flow of ['compatibility', 'ticket'] as const)
        expect((await ask(stage.service, account.inferenceKey, body, { flow })).status).toBe(200);
      await until(() => chats() >= before + 2, 'they are told');
      const heard = stage.standIns.collector.heard();
      for (const secret of [marker, account.inferenceKey, account.accountId, account.workspaceId, model, 'sotto_tkt'])
        expect(heard).not.toContain(secret);
      for (const { attributes: said } of stage.standIns.collector.spans())
        for (const name of Object.keys(said)) expect(attributes).toContain(name);
    });

    it('come with metrics that have the names and units of the conventions, and sums that name nobody', async () => {
      const { service, standIns } = stage;
      const account = await service.createAccount();
      const find = (process: string, name: string) =>
        standIns.collector.metrics().find((metric) => metric.service === process && metric.name === name);
      const sumOf = (name: string): number => find('sotto-control', name)?.points[0]?.value ?? 0;
      const before = { input: sumOf('sotto.input_tokens'), charged: sumOf('sotto.charged') };
      stage.provider('alpha').answer(answerChat({ promptTokens: 10, completionTokens: 20 }));
      expect((await ask(service, account.inferenceKey, { ...body, stream: true })).complete).toBe(true);
      await until(() => sumOf('sotto.input_tokens') >= before.input + 10, 'control has sent its sums');
      // 10 tokens at 1 USD and 20 at 2 USD per million.
      expect(sumOf('sotto.charged') - before.charged).toBeGreaterThanOrEqual(0.00005);
      const served = () => find('sotto-broker', 'gen_ai.client.inference.time_to_first_chunk');
      await until(() => served() !== undefined, 'the broker has sent its metrics');
      const units = new Map(
        standIns.collector.metrics().map(({ service: from, name, unit }) => [`${from} ${name}`, unit]),
      );
      expect([...units].sort()).toEqual([
        ['sotto-broker gen_ai.client.embeddings.duration', 's'],
        ['sotto-broker gen_ai.client.inference.duration', 's'],
        ['sotto-broker gen_ai.client.inference.time_to_first_chunk', 's'],
        ['sotto-broker http.server.request.duration', 's'],
        ['sotto-control http.server.request.duration', 's'],
        ['sotto-control sotto.charged', '{USD}'],
        ['sotto-control sotto.input_tokens', '{token}'],
        ['sotto-control sotto.output_tokens', '{token}'],
      ]);
      const calls = find('sotto-broker', 'gen_ai.client.inference.duration')?.points ?? [];
      const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'alpha' };
      expect(calls.map((point) => point.attributes)).toContainEqual(call);
      expect(calls.map((point) => point.attributes)).toContainEqual({ ...call, 'error.type': 'server_error' });
      for (const { points } of standIns.collector.metrics()) {
        for (const point of points)
          for (const name of Object.keys(point.attributes)) expect(attributes).toContain(name);
      }
      const heard = standIns.collector.heard();
      for (const secret of [marker, account.inferenceKey, account.accountId, account.workspaceId, model])
        expect(heard).not.toContain(secret);
    });
  },
  { planes: ['two'] },
);
