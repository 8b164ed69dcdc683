import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { nodePlatform } from './node-platform.ts';

it('gives up an answer of the control origin that does not end', async () => {
  const piece = Buffer.alloc(4 * 1024 * 1024, ' ');
  const server = createServer((_, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', write);
    write();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { controlFetch = fetch } = nodePlatform({ selfSigned: false });
  await expect(controlFetch(`${origin}/v1/models`)).rejects.toThrow('more than 134217728 bytes');
  server.closeAllConnections();
  server.close();
});
