import { randomUUID } from 'node:crypto';
import { hasSharedPostgres, startTestPostgres } from '@sotto/test-servers';
import { filesOf, type Prices, providerEntry, routeEntry } from '../../../test/kit/catalog.ts';
import { startOwnPostgres } from '../../../test/kit/postgres.ts';
import { startProvider } from '../../../test/kit/provider.ts';
import { type Service, startService, type TestAccount } from '../../../test/kit/service.ts';

/** The service with all features enabled, a funded account, and a signed-in user. */
export interface HttpWorld {
  readonly service: Service;
  readonly account: TestAccount;
  /** A `cookie` header with a new session. Rejects if it is refused. */
  session(): Promise<string>;
  stop(): Promise<void>;
}

const model = (id: string, model_type: string, pricing: Prices): object => {
  const capabilities = {
    tools: true,
    vision: true,
    structured_output: true,
    reasoning: { efforts: ['low', 'high'], can_disable: true },
  };
  const isText = model_type === 'text';
  return {
    ...{ id, model_type, context_length: 32_768, ...(isText ? { max_output_tokens: 4096 } : {}) },
    routes: [routeEntry('fuzz', pricing, { upstream_model: id, ...(isText ? { capabilities } : {}) })],
  };
};

export async function startHttpWorld(): Promise<HttpWorld> {
  const postgres = await (hasSharedPostgres ? startTestPostgres() : startOwnPostgres());
  const provider = await startProvider();
  const service = await startService({
    planes: 'one',
    databaseUrl: await postgres.createDatabase(),
    ...filesOf(
      [providerEntry('fuzz', provider.baseUrl)],
      [
        model('fuzz/chat', 'text', { input: 0.5, output: 1.5 }),
        model('fuzz/embedding', 'embedding', { input: 0.02 }),
        model('fuzz/image', 'image', { image: 0.01 }),
        model('fuzz/speech', 'tts', { input_characters: 15 }),
      ],
    ),
    environment: { CONNECTED_APPS: 'on', BILLING_TEST_RAIL: 'on', ATTESTATION: 'simulated', LOG_LEVEL: 'warn' },
  });
  const account = await service.createAccount({ usd: 1000 });
  const [email, password] = [`${randomUUID()}@fuzz.example`, `pw-${randomUUID()}`];
  const post = (path: string, body: object) =>
    fetch(`${service.controlUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const signUp = await post('/auth/sign-up/email', { name: 'x', email, password });
  if (signUp.status !== 200) throw new Error(`cannot sign up: ${signUp.status} ${await signUp.text()}`);
  return {
    service,
    account,
    async session() {
      const answer = await post('/auth/sign-in/email', { email, password });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`cannot sign in: ${answer.status} ${text}`);
      return answer.headers
        .getSetCookie()
        .map((line) => line.split(';')[0] ?? '')
        .join('; ');
    },
    async stop() {
      await service.stop();
      await provider.stop();
      await postgres.stop();
    },
  };
}
