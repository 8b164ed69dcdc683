import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, hello, redeem } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const folder = useFolder('secrets');
const model = 'acme/small';
/** A key of Sotto, such as a shell may hold under the name of a provider's key. */
const ownKey = 'sotto_inf_for-nobody-else';

await describeStage(
  'secrets that come as files',
  async () => {
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), `${content}\n`);
      return join(folder, name);
    };
    const key = (): string => randomBytes(32).toString('base64');
    return {
      providers: { acme: { api_key_env: 'ACME_API_KEY' }, corp: { at: 'acme', api_key_env: 'CORP_API_KEY' } },
      models: { [model]: { routes: { acme: [1, 2] } }, 'corp/small': { routes: { corp: [1, 2] } } },
      environment: {
        ...{ TICKET_SEALING_KEY: '', TICKET_SEALING_KEY_FILE: file('sealing', key()) },
        ...{ SETTLEMENT_MAC_KEY: '', SETTLEMENT_MAC_KEY_FILE: file('mac', key()) },
        ACME_API_KEY_FILE: file('acme', 'sk-from-a-file'),
        CORP_API_KEY_FILE: file('corp', ownKey),
      },
    };
  },
  (stage) => {
    it('seal tickets, sign settlements and open providers', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const { ticket } = await service.mintTicket(account.inferenceKey, { model });
      const answered = await redeem(service, ticket, { model });
      expect(answered.status, answered.text).toBe(200);
      expect(stage.provider('acme').seen.at(-1)?.headers.authorization).toBe('Bearer sk-from-a-file');
      expect(await service.settled(account)).toBeLessThan(10_000_000_000n);
    });

    it('are never sent to a provider if they are keys of Sotto', async () => {
      const { service } = stage;
      const { inferenceKey } = await service.createAccount();
      const refused = await ask(service, inferenceKey, { model: 'corp/small', messages: hello });
      expect(refused.status, refused.text).toBe(404);
      expect(refused.text).toContain('model_not_found');
      expect(JSON.stringify(stage.provider('acme').seen)).not.toContain(ownKey);
      expect(service.logs()).toContain('`corp` has no key: CORP_API_KEY begins with `sotto_`');
      expect(service.logs()).not.toContain(ownKey);
    });
  },
  // Embedded mode reads its settings by itself.
  { planes: ['two', 'one'] },
);
