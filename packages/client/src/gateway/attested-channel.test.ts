import { expect, it } from 'vitest';
import { answerFrom } from '../answer.ts';
import { ClientError } from '../errors.ts';
import { AttestedChannel } from './attested-channel.ts';
import type { ContentRequest, OriginConnection } from './platform.ts';

/** A connection whose requests end when the test says so. */
class StandInConnection implements OriginConnection {
  isOpen = true;
  /** Whether it ended without the client's knowledge. */
  isBroken = false;
  readonly sent: string[] = [];
  end = (): void => undefined;

  async send({ body }: ContentRequest, onFree: () => void) {
    if (this.isBroken) {
      onFree();
      throw new ClientError('connection_not_verified');
    }
    this.sent.push(String(body));
    this.end = onFree;
    return answerFrom(new Response('answer'));
  }

  close(): void {
    this.isOpen = false;
  }
}

const request = (body: string, signal?: AbortSignal): ContentRequest => ({
  ...{ path: '/v1/chat/completions', headers: {}, body, signal },
});

function world() {
  const first = new StandInConnection();
  const attested: PromiseWithResolvers<OriginConnection>[] = [];
  const channel = new AttestedChannel(first, () => {
    const next = Promise.withResolvers<OriginConnection>();
    attested.push(next);
    return next.promise;
  });
  /** Lets the newest attestation succeed. */
  const attest = (): StandInConnection => {
    const connection = new StandInConnection();
    attested.at(-1)?.resolve(connection);
    return connection;
  };
  return { first, attested, attest, channel };
}

// The interleavings: a free connection ends before the next request takes it, or as it takes it; a request is given up while
// its connection is attested; the channel is closed while one is attested, or while a request runs. In each, content must go
// to an attested connection, once, or to none.

it('sends each request over a free connection, or over one that is attested for it', async () => {
  const { first, attested, attest, channel } = world();
  await channel.send(request('one'));
  const two = channel.send(request('two'));
  expect(attested).toHaveLength(1);
  const second = attest();
  await two;
  first.end();
  await channel.send(request('three'));
  expect([first.sent, second.sent, attested.length]).toEqual([['one', 'three'], ['two'], 1]);
});

it('never uses a connection that has ended, and attests another', async () => {
  const { first, attested, attest, channel } = world();
  first.isOpen = false;
  const one = channel.send(request('one'));
  const second = attest();
  await one;
  second.end();
  second.isBroken = true;
  const two = channel.send(request('two'));
  await new Promise((resolve) => setImmediate(resolve));
  const third = attest();
  await two;
  expect([first.sent, second.sent, third.sent, attested.length]).toEqual([[], ['one'], ['two'], 2]);
});

it('sends nothing if the attestation fails, and passes its error on', async () => {
  const { attested, channel, first } = world();
  first.isOpen = false;
  const refused = channel.send(request('one'));
  attested[0]?.reject(new ClientError('nonce_mismatch'));
  await expect(refused).rejects.toMatchObject({ code: 'nonce_mismatch' });
});

it('keeps the connection of a request that was given up while it was attested, for the next one', async () => {
  const { attested, attest, channel, first } = world();
  first.isOpen = false;
  const leaving = new AbortController();
  const left = channel.send(request('one', leaving.signal));
  leaving.abort();
  await expect(left).rejects.toMatchObject({ name: 'AbortError' });
  const second = attest();
  await new Promise((resolve) => setImmediate(resolve));
  await channel.send(request('two'));
  expect([second.sent, attested.length]).toEqual([['two'], 1]);
});

it('takes no more requests once it is closed, and closes each connection when its request ends', async () => {
  const { first, attest, channel } = world();
  await channel.send(request('one'));
  const two = channel.send(request('two'));
  channel.close();
  expect(first.isOpen).toBe(true);
  first.end();
  expect(first.isOpen).toBe(false);
  const second = attest();
  await two;
  second.end();
  expect(second.isOpen).toBe(false);
  await expect(channel.send(request('three'))).rejects.toMatchObject({ code: 'connection_not_verified' });
});
