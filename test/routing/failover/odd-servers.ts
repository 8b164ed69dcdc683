import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A server that answers every connection with given bytes, whatever it was asked. */
export interface RawServer {
  readonly baseUrl: string;
  /** Replaces what is said from now on; with `end` the connection is closed after it. */
  says(pieces: readonly string[], end: boolean): void;
  stop(): void;
}

export async function startRawServer(): Promise<RawServer> {
  let said: readonly string[] = [];
  let ends = true;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', () => {
      for (const piece of said) socket.write(piece, 'latin1');
      if (ends) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    says(pieces, end) {
      said = pieces;
      ends = end;
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** An address that takes no connection: its queue is full, and the process behind it is stopped. */
export interface DeafServer {
  readonly baseUrl: string;
  stop(): void;
}

const listening = `const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;

export async function startDeafServer(): Promise<DeafServer> {
  const child: ChildProcess = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'ignore'] });
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
    stop() {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}
