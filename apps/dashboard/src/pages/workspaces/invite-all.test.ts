import { expect, it } from 'vitest';
import { ApiError } from '../../api/errors.ts';
import { type InvitedSoFar, inviteAll, readAddresses } from './invite-all.ts';

it('addresses are read from lines, lists and mail programs, each once', () => {
  expect(readAddresses(' ann@a.example\nBen <BEN@a.example>, ann@a.example; cy@a.example\r\n\nnobody\n')).toEqual({
    emails: ['ann@a.example', 'ben@a.example', 'cy@a.example'],
    wrong: ['nobody'],
  });
});

async function run(answers: Readonly<Record<string, readonly (string | ApiError)[]>>, stopAfter?: string) {
  const waits: number[] = [];
  const asked: string[] = [];
  let told: InvitedSoFar | undefined;
  const stopping = new AbortController();
  await inviteAll(Object.keys(answers), {
    invite: async (email) => {
      const answer = answers[email]?.[asked.filter((each) => each === email).length];
      asked.push(email);
      if (email === stopAfter) stopping.abort();
      if (typeof answer !== 'string') throw answer;
      return answer;
    },
    onProgress: (sofar) => {
      told = sofar;
    },
    sleep: async (ms) => void waits.push(ms),
    signal: stopping.signal,
  });
  return { told, waits, asked };
}

const error = (status: number, retryAfterS?: number) => new ApiError('no', { type: 'x', status, retryAfterS });

it('each address is invited once; a limit is waited for, and a refusal does not stop the others', async () => {
  const { told, waits, asked } = await run({
    a: ['link a'],
    b: [error(429, 20), 'link b'],
    c: [error(403)],
    d: ['link d'],
  });
  expect(told).toEqual({
    links: [
      ['a', 'link a'],
      ['b', 'link b'],
      ['d', 'link d'],
    ],
    refused: [['c', 'no']],
  });
  expect([waits, asked]).toEqual([[20_000], ['a', 'b', 'b', 'c', 'd']]);
});

it('a connection that breaks ends it, and so does a page that closes', async () => {
  for (const status of [0, 401]) await expect(run({ a: [error(status)], b: ['link'] })).rejects.toThrow('no');
  expect((await run({ a: ['link a'], b: ['link b'] }, 'a')).asked).toEqual(['a']);
});
