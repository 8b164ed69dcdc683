import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { examineKeysAtProviders } from './provider-keys.ts';

const statuses: Readonly<Record<string, number>> = { 'Bearer wrong': 401, 'Bearer poor': 402, 'Bearer right': 200 };
let provider: Server;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-keys-'));
  provider = createServer((request, response) => {
    response
      .writeHead(request.url === '/v1/models' ? (statuses[request.headers.authorization ?? ''] ?? 500) : 404)
      .end();
  });
  await new Promise<void>((resolve) => void provider.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  provider.close();
  await rm(folder, { recursive: true });
});

it('names the provider that refuses a key, the variable of the key and the answer, and no other', async () => {
  const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  const entry = (id: string, url = base): string =>
    `  - {id: ${id}, name: ${id}, adapter: openai, base_url: '${url}', api_key_env: ${id.toUpperCase()}_KEY, privacy_class: private}\n`;
  const file = join(folder, 'providers.yaml');
  await writeFile(
    file,
    `providers:\n${entry('acme')}${entry('poor')}${entry('fine')}${entry('away', 'http://127.0.0.1:1/v1')}${entry('keyless')}`,
  );
  const environment = { ACME_KEY: 'wrong', POOR_KEY: 'poor', FINE_KEY: 'right', AWAY_KEY: 'wrong' };
  expect(await examineKeysAtProviders(file, environment)).toMatchObject([
    { verdict: 'wrong', found: '`acme` refuses the key in ACME_KEY (401)' },
    { verdict: 'warning', found: '`poor` says that the account of POOR_KEY has no balance (402)' },
  ]);
  expect(await examineKeysAtProviders(undefined, environment)).toEqual([]);
  expect(await examineKeysAtProviders(join(folder, 'none.yaml'), environment)).toEqual([]);
});
