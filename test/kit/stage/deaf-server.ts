import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { dieTogether } from '@sotto/test-servers';
import type { GivenServer } from './spec.ts';

const listening = `const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;

/** Starts a server that accepts no connection: its queue is full, and its process is stopped. */
export async function startDeafServer(): Promise<GivenServer> {
  const child: ChildProcess = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'ignore'] });
  if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  const sockets: Socket[] = [];
  for (let full = false; !full; ) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
    full = await Promise.race([
      once(socket, 'connect').then(() => false),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 200)),
    ]);
  }
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}
