import { freePort } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { bearer, redeem } from '../../kit/client.ts';
import { answerChat } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';

const marker = 'zebra-7f3a';
const model = 'm/one';
const messages = [{ role: 'user', content: marker }];
let ports: { readonly control: number; readonly broker: number };

const ownLabels: ReadonlySet<string | undefined> = new Set([
  ...['operation', 'status', 'error', 'provider', 'outcome', 'answer', 'le', 'route'],
  ...['gen_ai_operation_name', 'gen_ai_provider_name', 'error_type'],
  ...['http_request_method', 'http_route', 'http_response_status_code', 'url_scheme'],
]);
/** Labels of events that do not happen in every run. */
const rareLabels: ReadonlySet<string | undefined> = new Set(['task', 'verdict']);
/** Labels of Node's own metrics. */
const nodeLabels: ReadonlySet<string | undefined> = new Set([
  'kind',
  'space',
  'type',
  'version',
  'major',
  'minor',
  'patch',
]);

const textOf = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

/** The value of a series, written as in Prometheus' format. Undefined if the series does not exist. */
const valueIn = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

await describeStage(
  'metrics',
  async () => {
    ports = { control: await freePort(), broker: await freePort() };
    return {
      ...oneModel,
      environment: { METRICS_PORT: String(ports.control) },
      brokerEnvironment: { METRICS_PORT: String(ports.broker) },
    };
  },
  (stage) => {
    const read = (): Promise<string> => textOf(ports.broker);
    const ask = (account: TestAccount, body: object) =>
      post(`${stage.service.baseUrl}/chat/completions`, { model, messages, ...body }, bearer(account.inferenceKey));

    it('have each provider at 0 before its first answer and error, which Prometheus then sees as an increase', async () => {
      const text = await read();
      for (const outcome of ['served', 'authentication_failed', 'quota_exhausted', 'timeout', 'server_error'])
        expect(valueIn(text, `sotto_attempts_total{provider="alpha",outcome="${outcome}"}`)).toBe(0);
      for (const answer of ['streamed', 'whole'])
        expect(valueIn(text, `sotto_provider_first_byte_seconds_count{provider="alpha",answer="${answer}"}`)).toBe(0);
      expect(valueIn(text, 'sotto_answers_broken_off_total{provider="alpha"}')).toBe(0);
    });

    it('count requests by outcome, calls to providers, and durations', async () => {
      const account = await stage.service.createAccount();
      const before = await read();
      const grown = async (series: string): Promise<number> =>
        (valueIn(await read(), series) ?? 0) - (valueIn(before, series) ?? 0);

      expect((await ask(account, {})).status).toBe(200);
      expect((await ask(account, { stream: true })).complete).toBe(true);
      const { ticket } = await stage.service.mintTicket(account.inferenceKey, { model });
      expect((await redeem(stage.service, ticket, { model, messages })).status).toBe(200);
      expect((await ask(account, { messages: 1 })).status).toBe(400);
      stage.provider('alpha').answer((_request, response) => void response.writeHead(500).end());
      expect((await ask(account, {})).status).toBe(502);
      stage.provider('alpha').answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hal' } }] })}\n\n`, () =>
          response.destroy(),
        );
      });
      expect((await ask(account, { stream: true })).complete).toBe(false);
      stage.provider('alpha').answer(answerChat());

      const first = (answer: string) => `sotto_provider_first_byte_seconds_count{provider="alpha",answer="${answer}"}`;
      expect([await grown(first('whole')), await grown(first('streamed'))]).toEqual([2, 2]);
      expect(await grown('sotto_answers_broken_off_total{provider="alpha"}')).toBe(1);
      expect(await grown('sotto_requests_total{operation="chat",status="200",error=""}')).toBe(3);
      expect(await grown('sotto_requests_total{operation="chat",status="400",error="invalid_request"}')).toBe(1);
      expect(await grown('sotto_requests_total{operation="chat",status="502",error="provider_error"}')).toBe(1);
      expect(await grown('sotto_attempts_total{provider="alpha",outcome="served"}')).toBe(4);
      expect(await grown('sotto_attempts_total{provider="alpha",outcome="server_error"}')).toBe(1);
      expect(await grown('sotto_admission_seconds_count{operation="chat"}')).toBe(5);
      expect(await grown('sotto_first_byte_seconds_count{operation="chat"}')).toBe(4);
      expect(await grown('sotto_stream_pieces_total')).toBeGreaterThan(0);
      expect(valueIn(await read(), 'sotto_penalties')).toBeGreaterThan(0);
      expect(valueIn(await read(), 'sotto_catalog_version')).toBeGreaterThan(0);
      expect(valueIn(await read(), 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
    });

    it('show requests in flight and settlements that wait for the ledger, and return to zero', async () => {
      const account = await stage.service.createAccount();
      const { promise: held, resolve: finish } = Promise.withResolvers<void>();
      stage.provider('alpha').answer(async (request, response) => {
        await held;
        await answerChat()(request, response);
      });
      const asked = ask(account, {});
      await until(async () => valueIn(await read(), 'sotto_holds_open') === 1, 'one hold is open');
      finish();
      expect((await asked).status).toBe(200);
      stage.provider('alpha').answer(answerChat());
      const isDone = async (): Promise<boolean> => {
        const text = await read();
        return ['sotto_holds_open', 'sotto_settlements_pending', 'sotto_settlements_unsent'].every(
          (name) => valueIn(text, name) === 0,
        );
      };
      await until(isDone, 'nothing is held, and the ledger has all');
    });

    it('contain no user, key, ticket, model or text', async () => {
      const account = await stage.service.createAccount();
      const { headers } = await ask(account, { user: marker });
      const all = `${await textOf(ports.control)}\n${await read()}`;
      const { accountId, workspaceId, inferenceKey, managementKey } = account;
      for (const secret of [
        ...[marker, model, accountId, workspaceId, inferenceKey, managementKey],
        ...[inferenceKey.slice(0, 16), String(headers.get('x-request-id'))],
      ]) {
        expect(all).not.toContain(secret);
      }
      // The labels are a reviewed list.
      const labels = new Set([...all.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name));
      const known = [ownLabels, rareLabels, nodeLabels];
      expect([...labels].filter((label) => !known.some((some) => some.has(label)))).toEqual([]);
      expect([...ownLabels].filter((label) => !labels.has(label))).toEqual([]);
    });

    it('show when the settler last finished, the result of the audit, and the requests to control', async () => {
      const isTold = async (): Promise<boolean> => {
        const text = await textOf(ports.control);
        const settledAt = valueIn(text, 'sotto_settler_passed_timestamp_seconds') ?? 0;
        return Date.now() / 1000 - settledAt < 10 && valueIn(text, 'sotto_audit_findings') === 0;
      };
      await until(isTold, 'the settler has passed');
      const series = 'sotto_control_requests_total{route="/v1/balance",status="401"}';
      const before = valueIn(await textOf(ports.control), series) ?? 0;
      expect((await fetch(`${stage.service.controlUrl}/balance`)).status).toBe(401);
      expect(valueIn(await textOf(ports.control), series)).toBe(before + 1);
    });

    it('show how full Redis is', async () => {
      const isTold = async (): Promise<boolean> => {
        const text = await textOf(ports.control);
        const used = valueIn(text, 'sotto_redis_memory_used_bytes') ?? 0;
        return used > 0 && used < (valueIn(text, 'sotto_redis_memory_limit_bytes') ?? 0);
      };
      await until(isTold, 'the memory is measured');
    });

    it('are served only on their own port and path', async () => {
      expect((await fetch(`http://127.0.0.1:${ports.broker}/`)).status).toBe(404);
      expect((await fetch(`http://127.0.0.1:${ports.broker}/metrics`, { method: 'POST' })).status).toBe(404);
      const { service } = stage;
      for (const url of [service.baseUrl, service.controlUrl]) {
        expect((await fetch(`${new URL(url).origin}/metrics`)).status).toBe(404);
      }
    });
  },
  { planes: ['two'] },
);
