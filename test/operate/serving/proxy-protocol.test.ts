import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, BlockList, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { certifyServer, Issuer } from '@sotto/attestation/testing';
import { createServer } from '@sotto/server';
import { freePort, noteSkip, until } from '@sotto/test-servers';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balancerSkipReason, hasBalancer, readStats, statsAt } from '../../kit/balancer.ts';
import { useFolder } from '../../kit/folder.ts';

let app: FastifyInstance;
let port: number;

beforeAll(async () => {
  const { cert, key } = await certifyServer(await Issuer.make('Test Authority'));
  const proxies = new BlockList();
  proxies.addAddress('127.0.0.1');
  app = createServer({
    ...{ bodyLimit: 4 << 20, maxHeaderBytes: 16_384, trustProxy: false, tls: { cert, key }, proxies },
    isOpenToPages: () => false,
    onShed: () => {},
    onUnexpected: () => {},
  });
  app.get('/readyz', async () => ({ status: 'ready' }));
  app.get('/whose', async (asked) => ({ ip: asked.ip }));
  app.post('/long', async (asked) => ({ ip: asked.ip, bytes: (asked.body as Buffer).length }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterAll(() => app?.close());

interface Asking {
  readonly at: number;
  /** The client's own address. */
  readonly from: string;
  readonly path?: string;
  readonly body?: string;
}
const ask = ({ at, from, path = '/whose', body }: Asking): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const options = { host: '127.0.0.1', port: at, path, localAddress: from, rejectUnauthorized: false, method };
    const asking = request({ ...options, agent: false, headers: { 'content-type': 'application/json' } }, (answer) => {
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve(JSON.parse(text) as Record<string, unknown>));
    });
    asking.on('error', reject);
    asking.end(body);
  });

/** Opens a connection from the proxy's address that begins with these pieces, one packet each. */
async function begin(pieces: readonly (string | Buffer)[]): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  await new Promise<void>((resolve) => void socket.once('connect', resolve));
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return socket;
}

/** Sends one request over TLS on an existing connection. */
const over = (socket: Socket): Promise<string> =>
  new Promise((resolve, reject) => {
    const tls = connectTls({ socket, rejectUnauthorized: false }, () =>
      tls.write('GET /whose HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
    );
    let text = '';
    tls.on('data', (piece) => {
      text += piece;
    });
    tls.on('end', () => resolve(text));
    tls.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
  });

describe('connections of a proxy', () => {
  it('have the address that their header names, however it arrives', async () => {
    const line = 'PROXY TCP6 2001:db8::7 2001:db8::1 4000 443\r\n';
    for (const pieces of [[line], [...line], [line.slice(0, 20), line.slice(20)]]) {
      expect(await over(await begin(pieces))).toContain('{"ip":"2001:db8::7"}');
    }
  });

  it("have the proxy's own address if the header says so", async () => {
    expect(await over(await begin(['PROXY UNKNOWN\r\n']))).toContain('{"ip":"127.0.0.1"}');
  });

  it('are closed if they begin with anything else, or stay silent for too long', async () => {
    // Begins with TLS at once, as a client that is not a proxy does.
    expect(await over(await begin([])).catch(() => '')).toBe('');
    for (const pieces of [['GET / HTTP/1.1\r\n\r\n'], ['PROXY TCP4 x y 1 2\r\n'], ['PROXY '], []]) {
      const socket = (await begin(pieces)).resume();
      if (!socket.closed) await new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    }
  }, 60_000);

  it('from other addresses are served directly, and cannot name another address', async () => {
    expect(await ask({ at: port, from: '127.0.0.3' })).toEqual({ ip: '127.0.0.3' });
    const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.3' });
    socket.on('error', () => {});
    socket.write('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n');
    await new Promise<void>((resolve) => void socket.once('close', () => resolve()).resume());
  });
});

const folder = useFolder('proxied');

describe.skipIf(!hasBalancer())('behind HAProxy', () => {
  let haproxy: ChildProcess;
  const ports: Record<string, number> = {};
  let statsPort = 0;
  beforeAll(async () => {
    statsPort = await freePort();
    for (const how of ['send-proxy', 'send-proxy-v2']) ports[how] = await freePort();
    const sections = Object.entries(ports).map(
      ([how, at]) => `
listen ${how}
  bind 127.0.0.1:${at}
  option httpchk GET /readyz
  http-check expect status 200
  server app 127.0.0.1:${port} ${how} check check-ssl verify none inter 5s fall 1 rise 1
`,
    );
    const file = join(folder, 'haproxy.cfg');
    const defaults =
      'defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  timeout check 60s\n';
    writeFileSync(file, `${defaults}${sections.join('')}${statsAt(statsPort)}`);
    haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
    for (const at of Object.values(ports)) {
      await until(async () => (await ask({ at, from: '127.0.0.2' })).ip !== undefined, 'HAProxy hands on');
    }
  });
  afterAll(() => void haproxy?.kill('SIGKILL'));

  it.each(['send-proxy', 'send-proxy-v2'])(
    'each client has its own address (%s), and its body arrives whole',
    async (how) => {
      const at = ports[how] ?? 0;
      const asked = ['127.0.0.2', '127.0.0.4', '127.0.0.5'].map(async (from) => {
        expect(await ask({ at, from })).toEqual({ ip: from });
        const body = JSON.stringify('x'.repeat(2 << 20));
        expect(await ask({ at, from, path: '/long', body })).toEqual({ ip: from, bytes: body.length });
      });
      await Promise.all(asked);
    },
  );

  it('its checks pass, so the server stays in use', async () => {
    const checks = async () => (await readStats(statsPort)).map(({ status, check_status }) => [status, check_status]);
    await expect.poll(checks).toEqual(Object.keys(ports).map(() => ['UP', 'L7OK']));
    for (const at of Object.values(ports)) expect(await ask({ at, from: '127.0.0.2' })).toEqual({ ip: '127.0.0.2' });
  });
});

if (!hasBalancer()) noteSkip('the PROXY protocol of HAProxy', balancerSkipReason);
