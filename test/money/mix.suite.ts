import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { costOf, expectSettled, operatorAccount, sum, type UsageRow, usageOf, usageRows } from '../kit/books.ts';
import { ask, bearer, type Flow } from '../kit/client.ts';
import { Random } from '../kit/random.ts';
import { type Act, type Script, scripted } from '../kit/scripted-provider.ts';
import { post } from '../kit/send.ts';
import { type TestAccount, until } from '../kit/service.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { embedPricing, pricings, twoPricings } from './spec.ts';

const requests = 2000;
const atOnce = 40;
const credited = 10_000_000_000n;
const seed = Number(process.env.MIX_SEED ?? 20_261_121);

interface Sent {
  readonly index: number;
  readonly kind: 'one' | 'two' | 'embed' | 'refused';
  readonly called: Answer;
}

/** After a mix of every kind of request, nothing is held and all records of the money agree. */
export function mixSuite(stage: Stage, which: 'one' | 'two'): void {
  describe('a mix of everything', () => {
    let account: TestAccount;
    let pauper: TestAccount;
    beforeAll(async () => {
      [account, pauper] = await Promise.all([
        stage.service.createAccount({ usd: 10 }),
        stage.service.createAccount({ usd: 0.0000001 }),
      ]);
    });

    /** Sends one random request. Its token count identifies its answer among all others. */
    async function send(index: number, random: Random): Promise<Sent> {
      const { service } = stage;
      const pick = <T>(...choices: readonly [T, ...T[]]): T => random.pick(choices) ?? choices[0];
      const flow: Flow = pick('compatibility', 'ticket');
      const stream = pick(true, false);
      if (random.next() < 0.1) return { index, kind: 'refused', called: await refused(flow, stream, pick) };

      const answer: Act = {
        kind: 'answer',
        usage: usageOf(7, index + 1),
        delayMs: pick(0, 0, 1, 5),
        pieces: pick(1, 5, 40),
        pieceMs: pick(0, 2, 5),
      };
      const failure: Act = pick<Act>(
        { kind: 'status', status: pick(400, 403, 429, 500, 503) },
        { kind: 'break' },
        { kind: 'break', afterPieces: pick(1, 20) },
        { kind: 'silence' },
      );
      const script: Script = {
        alpha: random.next() < 0.3 ? failure : answer,
        beta: random.next() < 0.15 ? { kind: 'status', status: 500 } : answer,
      };
      const kind: Exclude<Sent['kind'], 'refused'> = pick('one', 'two', 'two', 'embed');
      // When no other provider can answer, a silent one keeps the client waiting until it leaves.
      const silent = script.alpha?.kind === 'silence';
      const letters = 200 + random.next() * 4000;
      const leaving =
        silent || random.next() < 0.3
          ? pick(
              { leaveAfterMs: random.next() * 60 },
              { leaveWhen: (text: string) => text.length > letters, leaveAfterMs: 300 },
            )
          : {};
      const content = scripted(script, String(index));
      if (kind === 'embed') {
        const act: Act =
          script.alpha?.kind === 'answer'
            ? { kind: 'answer', usage: { prompt_tokens: index + 1, total_tokens: index + 1 } }
            : failure;
        // Long enough that the hold covers the usage that the provider will report.
        const input = scripted({ alpha: act }, String(index)).padEnd(requests, ' ');
        const options = { ...leaving, path: '/embeddings' };
        return {
          index,
          kind,
          called: await ask(service, account.inferenceKey, { model: 'm/embed', input }, { flow, ...options }),
        };
      }
      const body = {
        model: kind === 'one' ? 'm/one' : 'm/two',
        stream,
        messages: [{ role: 'user', content }],
        max_completion_tokens: 3000,
        ...(random.next() < 0.5 ? { stream_options: { include_usage: true } } : {}),
      };
      return { index, kind, called: await ask(service, account.inferenceKey, body, { flow, ...leaving }) };
    }

    /** Sends a request that must not run. */
    function refused(flow: Flow, stream: boolean, pick: <T>(...choices: readonly [T, ...T[]]) => T): Promise<Answer> {
      const { service } = stage;
      const url = `${service.baseUrl}/chat/completions`;
      const good = bearer(account.inferenceKey);
      const messages = [{ role: 'user', content: scripted({ '*': { kind: 'answer', usage: usageOf(1, 1) } }) }];
      const key = account.inferenceKey;
      return pick(
        () => post(url, '{"model": "m/one", "messages": [', good),
        () => ask(service, key, { model: 'm/nobody', stream, messages }, { flow }),
        () => post(url, { model: 'm/one', stream, messages, n: 3 }, good),
        () => post(url, { model: 'm/one', stream, messages, max_tokens: 5, max_completion_tokens: 6 }, good),
        () => ask(service, key, { model: 'm/one', stream, messages, provider: { only: ['nobody'] } }, { flow }),
        () =>
          ask(
            service,
            key,
            {
              model: 'm/one',
              stream,
              messages: [{ role: 'user', content: 'x'.repeat(60_000) }],
            },
            { flow },
          ),
        () => ask(service, pauper.inferenceKey, { model: 'm/one', stream, messages }, { flow }),
        () => post(url, { model: 'm/one', stream, messages }, bearer(account.managementKey)),
        () => post(url, { model: 'm/one', stream, messages }, bearer(`${account.inferenceKey}x`)),
        () => post(url, { model: 'm/one', stream, messages }, {}),
        () => post(url, { model: 'm/one', stream, messages }, { 'x-router-ticket': 'sotto_tkt_nothing' }),
      )();
    }

    async function sendAll(send: (index: number) => Promise<Sent>, count: number): Promise<Sent[]> {
      const sent: Sent[] = [];
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < count) {
          const index = next;
          next += 1;
          sent.push(await send(index));
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      return sent;
    }

    const serverOf = ({ called }: Sent): 'alpha' | 'beta' =>
      called.headers.get('x-router-provider') === 'beta' ? 'beta' : 'alpha';

    function fullCost(sent: Sent): bigint {
      if (sent.kind === 'embed') return costOf({ prompt: sent.index + 1 }, embedPricing);
      const pricing = sent.kind === 'one' ? pricings['m/one'] : twoPricings[serverOf(sent)];
      return costOf({ prompt: 7, completion: sent.index + 1 }, pricing);
    }

    it('leaves nothing held, and the wallet is what was credited less what the usage says', async () => {
      const { service } = stage;
      // Each request draws from its own random sequence, so its behavior does not depend on the speed of the others.
      const sent = await sendAll((index) => send(index, new Random(seed + index)), requests);
      const balance = await expectSettled(service, account, credited);
      await until(async () => (await usageRows(service, account)).filter(({ cost }) => cost === 0n).length > 0, 'rows');
      const rows = await usageRows(service, account);
      expect(balance, `seed ${seed}`).toBe(credited - sum(rows.map(({ cost }) => cost)));
      expect(balance).toBeGreaterThan(0n);

      expect(sent.filter(({ called }) => called.ended === 'stuck')).toEqual([]);
      for (const { kind, called } of sent) {
        // A broker that is short of time turns requests away before it looks at them.
        if (called.status === 503 && called.text.includes('Nothing was done')) continue;
        if (kind === 'refused') expect([400, 401, 402, 403, 404], called.text).toContain(called.status);
        else if (called.status === 401 || called.status === 500) expect.unreachable(`${called.status} ${called.text}`);
      }

      // Token counts identify requests: each measured row belongs to one request, and each complete answer has a row.
      const measured = rows.filter(({ status, estimated }) => status === 'completed' && !estimated);
      const identity = ({ operation, prompt_tokens, completion_tokens }: UsageRow): string =>
        operation === 'embeddings' ? `embed ${prompt_tokens - 1}` : `chat ${completion_tokens - 1}`;
      const byIdentity = new Map(measured.map((row) => [identity(row), row]));
      expect(byIdentity.size).toBe(measured.length);
      const measuredRowOf = ({ kind, index }: Sent) =>
        byIdentity.get(`${kind === 'embed' ? 'embed' : 'chat'} ${index}`);
      const complete = sent.filter(({ called }) => called.complete);
      expect(complete.length).toBeGreaterThan(requests / 3);
      for (const each of complete) {
        expect(measuredRowOf(each), `${each.kind} ${each.index}`).toMatchObject({
          cost: fullCost(each),
          provider: serverOf(each),
        });
      }
      // A client that got an error, or left before any output, pays nothing.
      const unpaid = sent.filter(({ called: { status } }) => status !== 0 && status !== 200);
      for (const each of unpaid) expect(measuredRowOf(each)).toBeUndefined();
      expect(rows.length).toBeLessThanOrEqual(sent.filter(({ kind }) => kind !== 'refused').length);
      const known = new Set(['completed', 'cancelled', 'failed']);
      expect(rows.filter(({ status, cost }) => !known.has(status) || (status === 'failed' && cost > 0n))).toEqual([]);
      for (const status of known) expect(rows.filter((row) => row.status === status).length).toBeGreaterThan(20);

      expect(await usageRows(service, pauper)).toEqual([]);
      expect(await operatorAccount(service, 'shortfall')).toBe(0n);
      expect(await operatorAccount(service, 'suspense')).toBe(0n);
      expect(sent.find(({ kind }) => kind === 'refused')?.called.error).toBeDefined();
    });

    const memoryOf = async (pid: number): Promise<number> =>
      Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
    const socketsOpen = (): number => stage.scripted('alpha').openSockets + stage.scripted('beta').openSockets;

    it('a thousand clients that leave: no memory, no socket, no money stays behind', async () => {
      const { service } = stage;
      const leaver = await service.createAccount({ usd: 10 });
      const long = Array.from({ length: 100 }, (_, index) => ` word${index}`).join('');
      const leave = async (index: number): Promise<Sent> => {
        const stream = index % 4 !== 0;
        const script: Script = {
          '*': stream ? { kind: 'answer', usage: usageOf(5, 5), text: long, pieceMs: 2 } : { kind: 'silence' },
        };
        const body = {
          model: 'm/unhurried',
          stream,
          messages: [{ role: 'user', content: scripted(script, String(index)) }],
          max_completion_tokens: 100,
        };
        const options = stream ? { leaveWhen: (text: string) => text.includes('word2') } : { leaveAfterMs: 15 };
        for (;;) {
          const called = await ask(service, leaver.inferenceKey, body, options);
          // A busy broker answers some requests with 503. These clients retry, so that all of them leave in the end.
          if (called.status !== 503) return { index, kind: 'one', called };
        }
      };
      await sendAll(leave, 500);
      await service.settled(leaver);
      // Memory that a leak keeps grows in every round. Garbage that is not collected yet does not.
      const grown: number[] = [];
      do {
        const before = await memoryOf(service.broker.pid);
        const sent = await sendAll(leave, 1000);
        expect(sent.filter(({ called }) => called.ended !== 'left')).toEqual([]);
        await expectSettled(service, leaver, credited);
        // The broker waits for the usage, and keeps no connection longer than that.
        await until(() => socketsOpen() <= atOnce, 'the providers are left alone');
        grown.push((await memoryOf(service.broker.pid)) - before);
      } while (Math.min(...grown) >= 24e6 && grown.length < 6);
      expect(Math.min(...grown), `${which}: ${grown.map((bytes) => Math.round(bytes / 1e6))} MB more`).toBeLessThan(
        24e6,
      );
    });
  });
}
