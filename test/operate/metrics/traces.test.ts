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

const attributes = new Set(['operation', 'route', 'method', 'status', 'error', 'provider', 'outcome', 'attempts']);

await describeStage(
  'traces',
  async () => {
    const collector = await startCollector();
    return {
      ...oneModel,
      environment: { TRACES_URL: collector.url, TRACES_RATIO: '1' },
      standIns: { collector },
      stop: () => collector.stop(),
    };
  },
  (stage) => {
    const body = { model, messages: [{ role: 'user', content: marker }], max_tokens: 10 };
    const spansOf = (service: string) => stage.standIns.collector.spans().filter((span) => span.service === service);
    /** How many requests the broker has told of. */
    const chats = (): number => spansOf('sotto-broker').filter(({ name }) => name === 'chat').length;
    const traced = (name: string, status: string) =>
      spansOf('sotto-broker').find((span) => span.name === name && span.attributes['sotto.status'] === status);

    it('show a request with its parts, and never two planes in one trace', async () => {
      const account = await stage.service.createAccount();
      expect(
        (await ask(stage.service, account.inferenceKey, { ...body, stream: true }, { flow: 'ticket' })).complete,
      ).toBe(true);
      await until(() => traced('chat', '200') !== undefined, 'the broker has told');
      const root = traced('chat', '200');
      expect(root?.attributes).toEqual({ 'sotto.operation': 'chat', 'sotto.status': '200', 'sotto.attempts': '1' });
      const parts = spansOf('sotto-broker').filter(({ parentSpanId }) => parentSpanId === root?.spanId);
      expect(parts.map(({ name, attributes: said }) => [name, said])).toEqual([
        ['admission', {}],
        ['attempt', { 'sotto.provider': 'alpha', 'sotto.outcome': 'served' }],
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
      await until(() => traced('chat', '502') !== undefined, 'the failure is told');
      expect(traced('chat', '502')?.attributes['sotto.error']).toBe('provider_error');
      await until(() => traced('chat', String(refused.status)) !== undefined, 'the refusal is told');
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
        for (const name of Object.keys(said)) expect(attributes).toContain(name.replace('sotto.', ''));
    });
  },
  { planes: ['two'] },
);
