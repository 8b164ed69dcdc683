import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { bearer, redeem } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { fromSource } from '../../kit/programs.ts';
import { startProvider } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';

const folder = useFolder('settings');
const model = 'acme/small';
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Everything that `startService` would set, with empty values, which count as not set. */
const unset = Object.fromEntries(
  ['HOST', 'LOG_LEVEL', 'PROVIDERS_FILE', 'CATALOG_FILE', 'RATE_LIMIT_REQUESTS', 'RATE_LIMIT_TOKENS'].map((name) => [
    name,
    '',
  ]),
);
const noSecrets = Object.fromEntries(
  ['TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY', 'DATABASE_URL', 'REDIS_URL'].map((name) => [name, '']),
);

await describeStage(
  'a service that starts from sotto.yaml',
  async ({ databaseUrl, redisUrl }) => {
    const spec: StageSpec = {
      providers: { acme: { server: await startProvider() } },
      models: { [model]: { routes: { acme: [1, 2] } } },
    };
    const { registry, catalog } = (await StageProviders.start(spec)).files;
    const secret = (name: string, content: string): string => {
      writeFileSync(join(folder, name), `${content}\n`);
      return `file:${name}`;
    };
    const file = join(folder, 'sotto.yaml');
    const text = `
control: {host: 127.0.0.1}
broker: {host: 127.0.0.1}
log: {level: info}
data:
  database_url: ${secret('database', databaseUrl)}
${redisUrl === '' ? '' : `  redis_url: ${secret('redis', redisUrl)}`}
secrets:
  ticket_sealing_key: ${secret('sealing', 'a'.repeat(64))}
  settlement_mac_key: ${secret('mac', 'b'.repeat(64))}
limits: {requests: 7}
providers: ${JSON.stringify(JSON.parse(registry).providers)}
models: ${JSON.stringify(JSON.parse(catalog).models)}
`;
    writeFileSync(file, text);
    return { ...spec, environment: { ...unset, ...noSecrets, CONFIG_FILE: file } };
  },
  (stage) => {
    it('serves with its secrets, limits, providers and models', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const minted = await post(`${service.controlUrl}/inference/tickets`, { model }, bearer(account.inferenceKey));
      // A key may mint twice as many tickets as it may send requests.
      expect(minted.headers.get('x-ratelimit-limit')).toBe('14');
      const { ticket } = minted.json as { ticket: string };
      const answered = await redeem(service, ticket, { model });
      expect(answered.status, answered.text).toBe(200);
    });
  },
  // Embedded mode reads its settings by itself.
  { planes: ['two', 'one'] },
);

describe('a process with a wrong sotto.yaml', () => {
  const file = join(folder, 'wrong.yaml');
  writeFileSync(file, 'control: {prot: 1}\nsecrets: {session_secret: a-secret-that-must-not-be-shown}\n');

  it.each([
    ['control', ['apps/control/src/main.ts', 'serve']],
    ['the broker', ['apps/confidential/src/main.ts']],
    ['the keeper', ['apps/keeper/src/main.ts']],
    ['embedded mode', ['apps/embedded/src/main.ts']],
  ])('does not start: %s', (_, args) => {
    const ended = spawnSync(process.execPath, [...fromSource, '--disable-sigusr1', ...args], {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, CONFIG_FILE: file, CONTROL_COLOUR: 'red' },
    });
    expect(ended.status).toBe(1);
    expect(ended.stderr).toContain(`${file}:1: \`control.prot\` is not a setting. The nearest key is \`control.port\``);
    expect(ended.stderr).toContain(`${file}:2: \`secrets.session_secret\` must be a reference to a secret`);
    expect(ended.stderr).not.toContain('must-not-be-shown');
  });
});
