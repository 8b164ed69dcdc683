import { beforeAll, beforeEach } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { expectSettled, type UsageRow, usageRows } from '../kit/books.ts';
import { ask, type Flow } from '../kit/client.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import type { SendOptions } from '../kit/send.ts';
import { type TestAccount, until } from '../kit/service.ts';
import type { Stage } from '../kit/stage/stage.ts';

const credited = 1_000_000_000_000n;
export const absurd = Number.MAX_SAFE_INTEGER;
export const reasoning = (tokens: number): object => ({ completion_tokens_details: { reasoning_tokens: tokens } });
export const words = 'Four words of text, and then some more of them.';

export const ways: readonly { readonly flow: Flow; readonly stream: boolean }[] = [
  { flow: 'compatibility', stream: false },
  { flow: 'compatibility', stream: true },
  { flow: 'ticket', stream: false },
  { flow: 'ticket', stream: true },
];

let salt = 0;
/** Returns a text that makes a request differ from every other one. */
export const nextSalt = (): string => {
  salt += 1;
  return String(salt);
};

/** Sends requests for one suite from its own account, and reports what they cost. */
export function meterOf(stage: Stage) {
  let account: TestAccount;
  let seen: { readonly balance: bigint; readonly rows: ReadonlySet<string> };
  const begin = async (): Promise<void> => {
    account = await stage.service.createAccount({ usd: Number(credited) / 1e9 });
    seen = { balance: credited, rows: new Set() };
  };
  beforeAll(begin);
  beforeEach(() => stage.on('alpha', stage.scripted('alpha').script));

  interface Ask extends SendOptions {
    readonly stream?: boolean;
    readonly flow?: Flow;
    readonly body?: object;
  }
  function asks(model: string, script: Readonly<Record<string, Act>> | Act, options: Ask = {}): Promise<Answer> {
    const { stream = false, flow = 'compatibility', body = {}, ...rest } = options;
    const acts = 'kind' in script ? { '*': script as Act } : (script as Readonly<Record<string, Act>>);
    // At least as many bytes as the provider reports tokens. The broker does not believe a larger count.
    const messages = [{ role: 'user', content: scripted(acts, nextSalt()).padEnd(1000) }];
    return ask(
      stage.service,
      account.inferenceKey,
      {
        model,
        stream,
        messages,
        max_completion_tokens: 1000,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
        ...body,
      },
      { flow, ...rest },
    );
  }

  /** The charges and the usage rows since the last call. Waits until there are `count` rows. */
  async function charged(count = 1): Promise<{ nusd: bigint; rows: UsageRow[] }> {
    const wanted = seen.rows.size + count;
    await until(async () => (await usageRows(stage.service, account)).length >= wanted, 'the rows are there');
    const balance = await expectSettled(stage.service, account, credited);
    const rows = await usageRows(stage.service, account);
    const nusd = seen.balance - balance;
    const added = rows.filter(({ id }) => !seen.rows.has(id));
    seen = { balance, rows: new Set(rows.map(({ id }) => id)) };
    return { nusd, rows: added };
  }

  const shownUsage = ({ text }: Answer): Record<string, unknown> | undefined => {
    const json = text.startsWith('data:') ? text.split('\n\n').findLast((frame) => frame.includes('"usage":{')) : text;
    return (JSON.parse(json?.replace(/^data: /, '') ?? '{}') as { usage?: Record<string, unknown> }).usage;
  };
  return {
    begin,
    asks,
    charged,
    shownUsage,
    get account() {
      return account;
    },
  };
}
