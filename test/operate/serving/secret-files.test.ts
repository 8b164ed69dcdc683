import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { redeem } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';

const folder = useFolder('secrets');
const model = 'acme/small';
let provider: FakeProvider;

await describeInBothPlanes(
  'secrets that come as files',
  async () => {
    provider = await startProvider();
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), `${content}\n`);
      return join(folder, name);
    };
    const key = (): string => randomBytes(32).toString('base64');
    return {
      ...filesOf(
        [providerEntry('acme', provider.baseUrl, { api_key_env: 'ACME_API_KEY' })],
        [textModel(model, [routeEntry('acme')])],
      ),
      environment: {
        ...{ TICKET_SEALING_KEY: '', TICKET_SEALING_KEY_FILE: file('sealing', key()) },
        ...{ SETTLEMENT_MAC_KEY: '', SETTLEMENT_MAC_KEY_FILE: file('mac', key()) },
        ACME_API_KEY_FILE: file('acme', 'sk-from-a-file'),
      },
      stop: () => provider.stop(),
    };
  },
  (planes) => {
    it('seal tickets, sign settlements and open providers', async () => {
      const { service } = planes;
      const account = await service.createAccount();
      const { ticket } = await service.mintTicket(account.inferenceKey, { model });
      const answered = await redeem(service, ticket, { model });
      expect(answered.status, answered.text).toBe(200);
      expect(provider.seen.at(-1)?.headers.authorization).toBe('Bearer sk-from-a-file');
      expect(await service.settled(account)).toBeLessThan(10_000_000_000n);
    });
  },
);
