import { describe, expect, it } from 'vitest';
import { standInEnclave, standInKinds } from '../e2ee/testing/index.ts';
import { model, standIn } from './testing/stand-in-client.ts';

const secret = 'a-secret-of-22-characters';

/** Asks with a secret of the conversation. Returns what the enclave opened, and all that left this machine. */
async function asking(kind: (typeof standInKinds)[number], cacheSecret?: string) {
  const opened: object[] = [];
  const at = standIn(kind, {}, standInEnclave(kind, { hears: (body) => opened.push(body) }));
  const answer = await at.exchange.ask({
    ...{ method: 'POST', path: '/v1/chat/completions', header: () => undefined, signal: new AbortController().signal },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], provider: { minimum_privacy: 'e2ee' } }),
    ...(cacheSecret === undefined ? {} : { cacheSecret }),
  });
  expect(answer.status).toBe(200);
  const sent = at.toBroker.map(({ path, headers, body }) => path + JSON.stringify(headers) + body.toString('latin1'));
  return { opened, sent: [...sent, JSON.stringify(at.toControl)].join('\n') };
}

describe("the secret of a conversation's cache", () => {
  it.each(standInKinds)('leaves this machine only inside the sealed body: %s', async (kind) => {
    const { opened, sent } = await asking(kind, secret);
    expect(sent).not.toMatch(new RegExp(`${secret}|user_cache_secret`));
    expect(opened).toEqual(kind === 'tinfoil' ? [expect.objectContaining({ user_cache_secret: secret })] : []);
  });

  it('is not sent if the conversation is not known', async () => {
    const { opened } = await asking('tinfoil');
    expect(opened).toHaveLength(1);
    expect(opened[0]).not.toHaveProperty('user_cache_secret');
  });
});
