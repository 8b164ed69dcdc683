import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { DurabilityCheck, type Lookable } from './durability.ts';

const kept = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
const notKept = { ...kept, appendonly: 'no' };
const wrong = 'Redis has `appendonly no`: it takes `appendonly yes`';

/** A server with changeable settings, which it may hide. */
function setup() {
  const server = { settings: kept as Record<string, string> | Error, asked: 0, now: 0 };
  const connection = Object.assign(new EventEmitter(), {
    options: { host: 'redis', port: 6379 },
    async config(_verb: string, name: string): Promise<unknown> {
      server.asked += 1;
      if (server.settings instanceof Error) throw server.settings;
      return [name, server.settings[name]];
    },
  });
  const check = new DurabilityCheck(connection as unknown as Lookable, () => server.now);
  return { server, connection, check };
}
const away = new Error('Command timed out');
const keptToItself = Object.assign(new Error('ERR unknown command'), { name: 'ReplyError' });

describe('DurabilityCheck', () => {
  it('accepts a durable Redis, and checks it again after half a minute', async () => {
    const { server, check } = setup();
    expect(await check.problem()).toBeUndefined();
    server.settings = notKept;
    server.now = 29_999;
    expect(await check.problem()).toBeUndefined();
    server.now = 30_000;
    expect(await check.problem()).toBe(wrong);
  });

  it('keeps a problem while no server answers', async () => {
    const { server, check } = setup();
    server.settings = notKept;
    expect(await check.problem()).toBe(wrong);
    server.settings = away;
    for (server.now = 1000; server.now < 60_000; server.now += 1000) expect(await check.problem()).toBe(wrong);
    server.settings = kept;
    expect(await check.problem()).toBeUndefined();
  });

  it('checks again at once after a missing answer', async () => {
    const { server, check } = setup();
    server.settings = away;
    expect(await check.problem()).toBeUndefined();
    server.settings = notKept;
    expect(await check.problem()).toBe(wrong);
  });

  it('checks again after a reconnect and after a failover', async () => {
    const { server, connection, check } = setup();
    expect(await check.problem()).toBeUndefined();
    server.settings = notKept;
    connection.emit('ready');
    expect(await check.problem()).toBe(wrong);
    server.settings = kept;
    expect(await check.problem()).toBeUndefined();
    server.settings = notKept;
    connection.options.host = 'replica';
    expect(await check.problem()).toBe(wrong);
  });

  it('accepts a Redis that hides its settings, and does not ask it each time', async () => {
    const { server, check } = setup();
    server.settings = keptToItself;
    expect(await check.problem()).toBeUndefined();
    const { asked } = server;
    expect(await check.problem()).toBeUndefined();
    expect(server.asked).toBe(asked);
  });
});
