import { beforeAll, expect, it } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { startProvider } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';

await describeInBothPlanes(
  'one chat request',
  async () => {
    const provider = await startProvider();
    return {
      registry: `providers:\n  - {id: acme, name: Acme, adapter: openai, base_url: "${provider.baseUrl}", privacy_class: private}\n`,
      catalog: `models:
  - id: acme/small
    model_type: text
    context_length: 8000
    max_output_tokens: 1000
    routes: [{provider: acme, upstream_model: small-v1, privacy_class: private, pricing: {input: 0.5, output: 1.5}}]
`,
      stop: () => provider.stop(),
    };
  },
  (planes) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await planes.service.createAccount();
    });

    it('is answered, charged price × usage, and the rest of its hold is released', async () => {
      const answer = await fetch(`${planes.service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'hi' }] }),
      });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ model: 'acme/small', usage: { cost: 0.000035 } });
      expect(await planes.service.settled(account)).toBe(10_000_000_000n - 35_000n);
    });
  },
);
