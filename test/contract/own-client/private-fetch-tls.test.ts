import { ClientError } from '@sotto/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { runSotto } from '../../kit/run-sotto.ts';
import { PrivateClients } from './stages.ts';
import { echo } from './stand-in.ts';

const clients = new PrivateClients();

describe.each(['key', 'channel'] as const)('over TLS, with evidence for a %s', (binding) => {
  beforeEach(async () => {
    await clients.start({ tls: true, bindsChannels: binding === 'channel' });
    // Each request gets its own connection.
    clients.service.onBroker((seen, response, request) =>
      echo(seen, response.setHeader('connection', 'close'), request),
    );
  });

  it('sends content over connections to the named key, and no other bytes before they are verified', async () => {
    const { fetch } = clients.privately({ selfSigned: true });
    expect((await clients.chat(fetch)).status).toBe(200);
    const verified = await fetch.verified();
    expect(verified.checks).toContainEqual({ name: 'gateway.tls_key', outcome: 'passed' });
    expect(verified).toMatchObject({ tlsKeySeen: true, binding });
  });

  it('shows which binding was checked, to programs and people', async () => {
    const args = ['verify', clients.service.baseUrl, '--self-signed', '--allow-simulated'];
    const [json, text] = [runSotto([...args, '--json']), runSotto(args)];
    expect(await Promise.all([json.ended, text.ended])).toEqual([0, 0]);
    expect(JSON.parse(json.out())).toMatchObject({ binding });
    expect(text.out()).toMatch(new RegExp(`Binding +${binding}: `));
  });

  it('rejects a certificate that no authority signed, unless told otherwise', async () => {
    await expect(clients.chat(clients.privately().fetch)).rejects.toMatchObject({
      code: 'attestation_unavailable',
      message: expect.stringMatching(/SELF_SIGNED/),
    });
    expect(clients.service.broker).toEqual([]);
  });

  it('refuses evidence that names another key than that of its own connection', async () => {
    clients.service.states({ spkiSha256: ['ab'.repeat(32)] });
    await expect(clients.chat(clients.privately({ selfSigned: true }).fetch)).rejects.toMatchObject({
      code: 'attestation_untrusted',
      message: expect.stringContaining('gateway.tls_key'),
    });
    expect(clients.service.broker).toEqual([]);
  });

  it('verifies again once when the service has changed its key, and goes on', async () => {
    const { fetch } = clients.privately({ selfSigned: true });
    await (await clients.chat(fetch)).text();
    await clients.service.changeKey({ named: true });
    expect((await clients.chat(fetch)).status).toBe(200);
    expect(clients.service.evidenceCalls()).toBe(2);
    const { keySet } = await fetch.verified();
    expect(keySet?.tls_public_keys.map(({ spki_sha256 }) => spki_sha256)).toEqual(clients.service.stated().spkiSha256);
    expect(clients.service.broker).toHaveLength(2);
  });

  it('sends a request again if its verification expired before it was sent', async () => {
    let now = Date.now();
    // Each call advances the clock. Some of the concurrent requests find the verification valid, and some find it
    // expired.
    const later = (): number => {
      now += 1;
      return now;
    };
    const { fetch } = clients.privately({ selfSigned: true, now: later, maxAgeMs: 5 });
    const answers = await Promise.all(Array.from({ length: 60 }, () => clients.chat(fetch)));
    expect(answers.map(({ status }) => status)).toEqual(Array(60).fill(200));
  });

  it('sends nothing over a connection to another key, and reports the mismatch', async () => {
    const { fetch } = clients.privately({ selfSigned: true });
    await (await clients.chat(fetch)).text();
    await clients.service.changeKey({ named: false });
    const failure = await clients.chat(fetch).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientError);
    expect(failure).toMatchObject({
      code: binding === 'channel' ? 'attestation_untrusted' : 'connection_not_verified',
    });
    expect(clients.service.broker).toHaveLength(1);
  });

  // The interleavings: a connection ends when the request has arrived, in the middle of the answer, right after it, or while
  // it is free and the next request takes it. A client that took an error for "nothing has left" would send content twice, and
  // one that reconnected below the check would send it unattested.
  it('sends no content twice and loses none in silence, whenever connections end', async () => {
    const { service } = clients;
    let arrived = 0;
    service.onBroker((seen, response, request) => {
      arrived += 1;
      const end = (): void => void request.socket.destroy();
      if (arrived % 5 === 1) return end();
      if (arrived % 5 === 2) {
        response.writeHead(200, { 'content-length': '100' }).write('half');
        return void setImmediate(end);
      }
      if (arrived % 5 === 3) response.once('finish', end);
      if (arrived % 5 === 4) response.once('finish', () => setImmediate(end));
      return echo(seen, response, request);
    });
    const { fetch } = clients.privately({ selfSigned: true, ticketsAhead: 0 });
    const ask = async (content: string): Promise<string> => {
      const body = JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content }] });
      const answer = await fetch(`${service.baseUrl}/chat/completions`, { method: 'POST', body });
      return answer.text().catch(() => 'the answer broke off');
    };
    const asked = Array.from({ length: 60 }, (_, at) => `content ${at};`);
    const answers: string[] = [];
    for (let at = 0; at < asked.length; at += 3) {
      answers.push(...(await Promise.all(asked.slice(at, at + 3).map(ask))));
    }
    for (const [at, answer] of answers.entries()) {
      expect(answer).toMatch(new RegExp(`You said: ${asked[at]}|answer_lost|the answer broke off`));
    }
    const received = service.broker.map(({ text }) => /content \d+;/.exec(text)?.[0]);
    expect(received.toSorted()).toEqual([...new Set(received)].toSorted());
    if (binding === 'channel') expect(service.evidenceCalls()).toBe(service.handshakes());
  });

  it('resumes no TLS session: each connection proves its key', async () => {
    const { fetch } = clients.privately({ selfSigned: true, ticketsAhead: 0 });
    await Promise.all([clients.chat(fetch), clients.chat(fetch), clients.chat(fetch)]);
    // The connection with the evidence for a channel carries the first request.
    expect(clients.service.handshakes()).toBe(binding === 'channel' ? 3 : 4);
  });
});
