import { createE2eeChat, createPrivateFetch, verify } from '@sotto/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRelay, type TestRelay } from '../../kit/relay.ts';
import { runSotto } from '../../kit/run-sotto.ts';
import { apiKey, marker, messages, model, PrivateClients } from './stages.ts';
import { echo, json, refusal } from './stand-in.ts';

const clients = new PrivateClients();
let relay: TestRelay;

beforeEach(async () => {
  await clients.start({ tls: true });
  relay = await startRelay();
});
afterEach(() => relay.stop());

const hostOf = (url: string): string => new URL(url).host;

describe.each(['socks5', 'socks5h', 'http'])('a relay by %s', (scheme) => {
  const address = () => `${scheme}://127.0.0.1:${relay.port}`;

  it('carries evidence, tickets and content, and sees none of them', async () => {
    clients.service.onBroker(echo);
    const { fetch } = clients.privately({ selfSigned: true, relay: address() });
    const answer = await clients.chat(fetch);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(marker);
    expect(new Set(relay.asked)).toEqual(
      new Set([hostOf(clients.service.baseUrl), hostOf(clients.service.controlUrl)]),
    );
    const toBroker = relay.asked.filter((to) => to === hostOf(clients.service.baseUrl));
    expect(toBroker.length).toBe(clients.service.handshakes());
    expect(Buffer.concat([...relay.carried]).toString('latin1')).not.toContain(marker);
    // The check of the key of hop 1 still holds.
    expect((await fetch.verified()).checks).toContainEqual({ name: 'gateway.tls_key', outcome: 'passed' });
  });

  it('carries a refusal of the control origin, after which no content leaves', async () => {
    clients.service.onControl((_, response) => json(response, 402, refusal('insufficient_balance')));
    const { fetch } = clients.privately({ selfSigned: true, relay: address() });
    const clear = { model, messages };
    for (const body of [clear, { ...clear, provider: { minimum_privacy: 'e2ee' } }]) {
      const url = `${clients.service.baseUrl}/chat/completions`;
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
      expect([answer.status, await answer.json()]).toMatchObject([402, { error: { type: 'insufficient_balance' } }]);
    }
    expect(clients.service.broker).toEqual([]);
  });

  it('is never replaced by a direct connection', async () => {
    const at = address();
    await relay.stop();
    const { fetch } = clients.privately({ selfSigned: true, relay: at });
    await expect(clients.chat(fetch)).rejects.toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
    expect([clients.service.handshakes(), clients.service.broker.length]).toEqual([0, 0]);
    relay = await startRelay();
  });

  it('resolves names itself', async () => {
    const fetch = createPrivateFetch({
      ...{ apiKey, controlOrigin: 'https://control.invalid', baseOrigin: 'https://broker.invalid', relay: address() },
    });
    await expect(fetch.verified()).rejects.toMatchObject({ code: 'attestation_unavailable' });
    expect(relay.asked).toEqual(['broker.invalid:443']);
    fetch.close();
  });

  it('gets the credential in its address', async () => {
    await relay.stop();
    relay = await startRelay({ credential: 'me:se cret' });
    const at = (credential: string) => `${scheme}://${credential}127.0.0.1:${relay.port}`;
    const denied = clients.privately({ selfSigned: true, relay: at('me:wrong@') });
    await expect(clients.chat(denied.fetch)).rejects.toThrow();
    expect(relay.asked).toEqual([]);
    const admitted = clients.privately({ selfSigned: true, relay: at('me:se%20cret@') });
    expect((await clients.chat(admitted.fetch)).status).toBe(200);
  });
});

it.each([
  'ftp://127.0.0.1:1',
  'localhost:9050',
  'socks5://',
  'socks5://host/path',
  'http://host:1/?query',
  'socks5://a%b@host:1',
])('refuses the address %s', (address) => {
  expect(() => clients.privately({ relay: address })).toThrow(
    expect.objectContaining({ code: 'option_invalid', message: expect.stringContaining('socks5://host:port') }),
  );
});

it('is an option of the command', async () => {
  const { baseUrl } = clients.service;
  const address = `socks5://127.0.0.1:${relay.port}`;
  const own = runSotto(['verify', baseUrl, '--self-signed', '--allow-simulated', '--relay', address]);
  expect(await own.ended).toBe(0);
  expect(own.err()).toContain('simulated');
  expect(relay.asked).toEqual([hostOf(baseUrl)]);
  const wrong = runSotto(['verify', baseUrl, '--relay', 'nowhere']);
  expect(await wrong.ended).toBe(2);
});

describe('a relay and a service without TLS', () => {
  const control = 'https://control.invalid';
  const address = () => `socks5://127.0.0.1:${relay.port}`;
  const plain = 'http://127.0.0.1:4000/v1';
  const refused = expect.objectContaining({
    code: 'option_invalid',
    message: expect.stringContaining('`relay` cannot carry http://127.0.0.1:4000: it has no TLS'),
  });

  it.each([
    ['control origin', { controlOrigin: plain, baseOrigin: 'https://broker.invalid' }],
    ['confidential origin', { controlOrigin: control, baseOrigin: plain }],
  ])('are refused together by the library: the %s', (_, origins) => {
    const options = { apiKey, ...origins, relay: address(), allowSimulated: true };
    expect(() => createPrivateFetch(options)).toThrow(refused);
    expect(() => createE2eeChat(options)).toThrow(refused);
    expect(relay.asked).toEqual([]);
  });

  it('are refused together by `verify`, for both origins', async () => {
    await expect(verify(plain, { relay: address() })).rejects.toThrow(refused);
    const enclave = { model, apiKey, controlOrigin: clients.service.controlUrl };
    const report = await verify(clients.service.baseUrl, { relay: address(), selfSigned: true, enclave });
    expect(report.enclave).toMatchObject({ type: 'option_invalid' });
    expect(relay.asked).toEqual([hostOf(clients.service.baseUrl)]);
    expect(clients.service.control).toEqual([]);
  });

  it.each([
    ['chat', '--model', model, '--base-url', plain, '--control-url', control],
    ['chat', '--model', model, '--base-url', 'https://broker.invalid', '--control-url', plain],
    ['proxy', '--base-url', plain, '--control-url', control],
    ['run', 'claude', '--base-url', plain, '--control-url', control],
    ['verify', plain],
  ])('are refused together by the command: %s %s %s %s %s', async (...args) => {
    const own = runSotto([...args, '--allow-simulated', '--relay', address()], { INFERENCE_KEY: apiKey });
    expect(await own.ended).toBe(2);
    expect(own.err()).toContain('`relay` cannot carry http://127.0.0.1:4000');
    expect(relay.asked).toEqual([]);
  });
});
