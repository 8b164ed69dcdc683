import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refusalsAnswerSchema } from '@sotto/contract/control/usage';
import { until } from '@sotto/test-servers';
import { Webhook } from 'standardwebhooks';
import { afterEach, expect, it } from 'vitest';
import { bearer, ticketHeader } from '../../kit/client.ts';
import { acme } from '../../kit/conformance.ts';
import { useFolder } from '../../kit/folder.ts';
import { openMailbox } from '../../kit/mailbox.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, post, send } from '../../kit/send.ts';
import { signedUp } from '../../kit/signed-up.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';

const caFile = join(useFolder('refusals'), 'ca.pem');

/**
 * Refusals reach the people whom they concern, and nothing of the refused request does. What could break that:
 *
 * - Two controls book the same counts at once: the alert has one row per budget and month, which only one of them inserts.
 * - The budget is raised between the refusal and its alert: the alert tells the limit as it is when it is sent.
 * - The budget is raised between the refusal and the booking of its count: it alerts nobody (`refusals.integration.test.ts`).
 * - A count is read again after a restart: it is no larger than the stored one, so it alerts nothing.
 * - A refusal could reveal content: a count has the key, the hour and the kind, and refusals of content have none.
 */
await describeStage(
  'refusals',
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
    afterEach(() => suite.reset());
    const { url, signIn, makeWorkspace, makeKey, invite, accept, fund } = peopleOf(suite);

    async function person(): Promise<Person> {
      const made = await signedUp(suite.service.pool, { isVerified: true });
      return { ...made, session: await signIn(made) };
    }

    async function joins(owner: Person, id: string, role: 'member' | 'viewer'): Promise<Person> {
      const joining = await person();
      const { token } = await invite(owner, id, joining.email, role);
      expect((await accept(joining, token)).status).toBe(200);
      return joining;
    }

    interface Events {
      readonly type: string;
      readonly [field: string]: unknown;
    }

    /** A workspace with a webhook, and a member with a key. */
    async function team() {
      const owner = await person();
      await fund(owner);
      const id = await makeWorkspace(owner, 'Team & <Co>');
      const member = await joins(owner, id, 'member');
      const { key, id: keyId } = await makeKey(member, id);
      const put = async (path: string, body: object) => {
        const answer = await send('PUT', url(`/workspaces/${id}${path}`), { headers: owner.session, body });
        expect(answer.status, answer.text).toBe(200);
        return answer.json;
      };
      const hook = `https://127.0.0.1:${suite.standIns.receiver.port}/${id}`;
      let { secret } = (await put('/webhook', { url: hook })) as { secret: string };
      return {
        ...{ owner, member, id, key, keyId, put },
        /** Moves the last change of the budgets back by a minute. What they refuse in the first half of it alerts nobody. */
        wasSetEarlier: () =>
          suite.service.pool.query(
            "update budgets set projected_at = projected_at - interval '1 minute' where workspace_id = $1",
            [id],
          ),
        async setFormat(format: string) {
          ({ secret } = (await put('/webhook', { url: hook, format })) as { secret: string });
        },
        events: (): Events[] =>
          suite.standIns.receiver.received
            .filter(({ path }) => path === `/${id}`)
            .map(({ headers, body }) => new Webhook(secret).verify(body, headers as Record<string, string>) as Events),
        refusals: async (who: Person, query = '') => {
          const answer = await get(url(`/usage/refusals?workspace_id=${id}${query}`), who.session);
          expect(answer.status, answer.text).toBe(200);
          return refusalsAnswerSchema.parse(answer.json).data;
        },
      };
    }

    const body = (tokens: number, more: object = {}) => ({
      model: 'acme/roomy',
      max_completion_tokens: tokens,
      messages: [{ role: 'user', content: 'a secret' }],
      ...more,
    });
    const byKey = async (key: string, asked: object) =>
      (await post(`${suite.service.baseUrl}/chat/completions`, asked, bearer(key))).status;
    const byTicket = async (key: string, asked: object) => {
      const { ticket } = await suite.service.mintTicket(key, { model: 'acme/roomy' });
      return (await post(`${suite.service.baseUrl}/chat/completions`, asked, ticketHeader(ticket))).status;
    };

    it('by a budget that is hardly spent are told at once, by mail and webhook, and once a month', async () => {
      const { mailbox } = suite.standIns;
      const { owner, member, key, keyId, id, put, wasSetEarlier, events, refusals } = await team();
      await put('/budgets', { limit_usd: 0.001, member_id: member.accountId });
      expect(await byKey(key, body(20))).toBe(200);
      // A hold of 0.15 cents, at 4 % spent.
      expect([await byKey(key, body(1000)), await byTicket(key, body(1000))]).toEqual([402, 402]);
      await until(async () => events().length > 0, 'the event of the refusal');
      const [event] = events();
      expect(event).toEqual({
        type: 'budget.refusal',
        text: expect.stringContaining('refused a request'),
        workspace: { id, name: 'Team & <Co>' },
        person: { id: member.accountId, email: member.email },
        ...{ key: null, tag: null },
        budget: { id: expect.any(String), scope: 'member', limit_usd: 0.001, spent_usd: expect.any(Number) },
        percent: expect.any(Number),
        month: new Date().toISOString().slice(0, 7),
        url: expect.stringContaining('/budgets'),
      });
      for (const person of [owner, member]) {
        const { text } = await mailbox.newest(person.email, 'refused a request');
        expect(text).toContain(`budget of the member "${member.email}"`);
        expect(text).toContain('of $0.001');
        expect(text).not.toMatch(/acme|a secret/);
      }
      await until(async () => (await refusals(owner))[0]?.count === 2, 'both refusals are counted');
      expect(await refusals(member)).toEqual([
        { hour: expect.stringMatching(/:00:00\.000Z$/), key_id: keyId, status: 402, kind: 'member_budget', count: 2 },
      ]);
      expect(events()).toHaveLength(1);
      // Setting the budget again alerts again.
      await put('/budgets', { limit_usd: 0.0011, member_id: member.accountId });
      await wasSetEarlier();
      expect(await byKey(key, body(1000))).toBe(402);
      await until(async () => events().length === 2, 'the event of the next refusal');
      const told = () =>
        mailbox.received.filter(({ to, subject }) => to === owner.email && subject.includes('refused'));
      await until(async () => told().length === 2, 'the second mail to the owner');
    });

    it('by the budget of a tag are told to the owner and by webhook, with the tag, and are counted', async () => {
      const { mailbox } = suite.standIns;
      const { owner, member, key, keyId, put, events, refusals } = await team();
      const tagged = await send('PATCH', url(`/keys/${keyId}`), { headers: member.session, body: { tag: 'R&D' } });
      expect(tagged.status, tagged.text).toBe(200);
      await put('/budgets', { limit_usd: 0.001, tag: 'R&D' });
      expect([await byKey(key, body(1000)), await byTicket(key, body(1000))]).toEqual([402, 402]);
      await until(async () => events().length > 0, 'the event of the refusal');
      expect(events()[0]).toMatchObject({
        ...{ type: 'budget.refusal', person: null, key: null, tag: 'R&D' },
        budget: { scope: 'tag', limit_usd: 0.001, spent_usd: 0 },
      });
      const { text } = await mailbox.newest(owner.email, 'refused a request');
      expect(text).toContain('budget of the tag "R&D" in the workspace "Team & <Co>"');
      await until(async () => (await refusals(owner))[0]?.count === 2, 'both refusals are counted');
      expect(await refusals(member)).toMatchObject([{ key_id: keyId, status: 402, kind: 'tag_budget', count: 2 }]);
    });

    it('reach Slack and Teams as messages in which a name is only text', async () => {
      const { key, put, setFormat, wasSetEarlier } = await team();
      const { receiver } = suite.standIns;
      const bodies = (): string[] => receiver.received.map((event) => event.body);
      for (const format of ['slack', 'teams'] as const) {
        await setFormat(format);
        await put('/budgets', { limit_usd: 0.001 });
        await wasSetEarlier();
        const before = bodies().length;
        expect(await byKey(key, body(1000))).toBe(402);
        await until(async () => bodies().length > before, `the event for ${format}`);
        const sent = JSON.parse(bodies().at(-1) ?? '');
        if (format === 'slack') {
          expect(sent.text).toContain('budget of the workspace "Team &amp; &lt;Co&gt;" refused a request');
          const [{ text }, link] = sent.blocks;
          expect(text).toEqual({ type: 'plain_text', text: expect.stringContaining('"Team & <Co>"'), emoji: false });
          expect(link.text.text).toMatch(/^<http[^|<>]*\|Budgets and alerts>$/);
        } else {
          const [{ contentType, content }] = sent.attachments;
          expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
          expect(content.body[0].inlines[0]).toEqual({
            type: 'TextRun',
            text: expect.stringContaining('budget of the workspace "Team & <Co>" refused a request'),
          });
        }
      }
    });

    it('of rights and rates are counted by kind, and those of content are not', async () => {
      const { owner, member, key, keyId, id, refusals } = await team();
      const change = async (changes: object) => {
        const answer = await send('PATCH', url(`/keys/${keyId}`), { headers: member.session, body: changes });
        expect(answer.status, answer.text).toBe(200);
      };
      await change({ allowed_models: ['acme/plain'] });
      expect(await byKey(key, body(20))).toBe(403);
      const ticket = await post(url('/inference/tickets'), { model: 'acme/roomy' }, bearer(key));
      expect(ticket.status).toBe(403);
      await change({ allowed_models: null, openai_compatible: false });
      expect(await byKey(key, body(20))).toBe(403);
      await change({ openai_compatible: true, requests_per_minute: 1 });
      const asked = await Promise.all([byKey(key, body(20)), byKey(key, body(20)), byKey(key, body(20))]);
      expect(asked).toContain(429);
      // What a provider or the broker refuses for its content or form leaves no count.
      expect(await byKey(key, body(20, { model: 'acme/none' }))).toBe(404);
      expect(await byKey(key, body(20, { temperature: 99 }))).toBe(400);
      const counted = async () =>
        Object.fromEntries((await refusals(owner)).map(({ kind, status, count }) => [kind, [status, count]]));
      await until(async () => Object.keys(await counted()).length === 3, 'three kinds are counted');
      expect(await counted()).toEqual({ model: [403, 2], access: [403, 1], requests: [429, expect.any(Number)] });
      // Another member sees none of them, a viewer nothing at all, and the owner finds them by member and key.
      const other = await joins(owner, id, 'member');
      expect(await refusals(other)).toEqual([]);
      const viewer = await joins(owner, id, 'viewer');
      expect((await get(url(`/usage/refusals?workspace_id=${id}`), viewer.session)).status).toBe(403);
      expect(await refusals(owner, `&member_id=${other.accountId}`)).toEqual([]);
      expect(await refusals(owner, `&key_id=${keyId}&from=2026-01-01&to=2026-01-02`)).toEqual([]);
      const tooLong = await get(url('/usage/refusals?from=2026-01-01&to=2026-03-01'), owner.session);
      expect(tooLong).toMatchObject({ status: 400, json: { error: { param: 'from' } } });
    });
  },
  { planes: ['two'] },
);
