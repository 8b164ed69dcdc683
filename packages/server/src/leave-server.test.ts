import { Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { leaveServer } from './leave-server.ts';
import { createServer } from './server.ts';

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterEach(() => agent.destroy());

async function listening() {
  const app = createServer({
    ...{ bodyLimit: 1024, maxHeaderBytes: 16_384, trustProxy: false },
    isOpenToPages: () => false,
    onShed: () => {},
    onUnexpected: (error) => expect.unreachable(JSON.stringify(error)),
  });
  app.get('/hello', async () => 'hello');
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app;
}

/** Asks on the kept connection. Resolves to what the answer says of the connection. */
const ask = (port: number): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path: '/hello', agent }, (answer) => {
      answer.resume().once('end', () => resolve(answer.headers.connection));
    });
    asked.once('error', reject).end();
  });

describe('a server that leaves', () => {
  it('answers once more on a connection that a client has kept, and says that it closes', async () => {
    const app = await listening();
    const { port } = app.server.address() as AddressInfo;
    expect(await ask(port)).toBe('keep-alive');
    const left = leaveServer(app, { announceMs: 0, graceMs: 1000 });
    expect(await ask(port)).toBe('close');
    await left;
    await expect(ask(port)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('leaves at once if no client is connected', async () => {
    const app = await listening();
    const closing: string[] = [];
    const left = leaveServer(app, { announceMs: 0, graceMs: 1000 }).then(() => closing.push('left'));
    await new Promise<void>((resolve) => void app.server.once('close', resolve));
    await left;
    expect(closing).toEqual(['left']);
  });
});
