import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@sotto/test-servers';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { acme } from '../../kit/conformance.ts';
import { useFolder } from '../../kit/folder.ts';
import { openMailbox } from '../../kit/mailbox.ts';
import { peopleOf } from '../../kit/people.ts';
import { post, send } from '../../kit/send.ts';
import { signedUp } from '../../kit/signed-up.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';

const caFile = join(useFolder('alerts'), 'ca.pem');
/** The cost of a request: 10 tokens at 0.50 and 20 at 1.50 USD per million. */
const costUsd = 0.000_035;

await describeStage(
  'alerts of requests that a prepaid balance pays',
  async () => {
    const [mailbox, receiver] = [await openMailbox(), await startReceiver()];
    await writeFile(caFile, receiver.caPem);
    return {
      ...acme,
      standIns: { mailbox, receiver },
      controlEnvironment: {
        ...{ SMTP_URL: mailbox.url, MAIL_FROM: 'sotto@service.example' },
        ...{ WEBHOOK_NETWORKS: '127.0.0.1', NODE_EXTRA_CA_CERTS: caFile },
      },
      stop: () => Promise.all([mailbox.stop(), receiver.stop()]),
    };
  },
  (suite) => {
    it('follow their settlement, by mail and webhook', async () => {
      const { mailbox, receiver } = suite.standIns;
      const { url, signIn, makeWorkspace, makeKey, fund } = peopleOf(suite);
      const made = await signedUp(suite.service.pool, { isVerified: true });
      const owner = { ...made, session: await signIn(made) };
      await fund(owner);
      const workspaceId = await makeWorkspace(owner);
      const { key } = await makeKey(owner, workspaceId);
      const put = async (path: string, body: object) => {
        const answer = await send('PUT', url(`/workspaces/${workspaceId}${path}`), { headers: owner.session, body });
        expect(answer.status, answer.text).toBe(200);
        return answer.json;
      };
      const { secret } = (await put('/webhook', { url: `https://127.0.0.1:${receiver.port}/` })) as { secret: string };
      const percents = () =>
        receiver.received.map(({ headers, body }) => {
          const event = new Webhook(secret).verify(body, headers as Record<string, string>);
          return (event as { percent: number }).percent;
        });
      const chat = async (): Promise<number> => {
        const body = { model: 'acme/small', max_completion_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] };
        return (await post(`${suite.service.baseUrl}/chat/completions`, body, bearer(key))).status;
      };

      await put('/budgets', { limit_usd: 4 * costUsd });
      expect([await chat(), await chat()]).toEqual([200, 200]);
      await until(async () => String(percents()) === '50', 'the alert at 50 %');
      await put('/budgets', { limit_usd: 0.000_087_5 });
      await until(async () => String(percents()) === '50,80', 'the alert at 80 %');
      await put('/budgets', { limit_usd: 2 * costUsd });
      await until(async () => String(percents()) === '50,80,100', 'the alert at 100 %');
      expect(await chat()).toBe(402);
      for (const percent of ['50 %', '80 %', '100 %']) {
        const { text } = await mailbox.newest(owner.email, percent);
        expect(text).not.toContain(key);
        expect(text).not.toContain('acme');
      }
      expect(mailbox.received.filter(({ subject }) => subject.includes('of a budget')).length).toBe(3);
      for (const { body } of receiver.received) expect(body).not.toMatch(/acme|sotto_inf/);
    });
  },
  { planes: ['two'] },
);
