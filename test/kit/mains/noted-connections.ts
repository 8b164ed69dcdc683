import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Loaded into our processes with `--import`. Appends the address of each TCP connection that the process opens to the file `TEST_CONNECTIONS`. */
const file = process.env.TEST_CONNECTIONS ?? '';

subscribe('net.client.socket', (message) => {
  const { socket } = message as { readonly socket: Socket };
  socket.once('connect', () => appendFileSync(file, `${socket.remoteAddress}:${socket.remotePort}\n`));
});
