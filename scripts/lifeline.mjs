// Ends a process when the bootstrap that started it dies. The process has its own group, so a SIGKILL of the bootstrap or
// of its group would otherwise leave it running, with its ports. The pipe from the bootstrap closes in any case. Node loads
// this module before the program.

import { Socket } from 'node:net';

const fd = process.env.SOTTO_LIFELINE_FD;
// Forked workers inherit --import. They would mistake another descriptor for the pipe.
delete process.env.SOTTO_LIFELINE_FD;

if (fd !== undefined) {
  new Socket({ fd: Number(fd) })
    .on('error', () => {})
    .on('close', () => process.kill(process.pid, 'SIGKILL'))
    .resume()
    .unref();
}
