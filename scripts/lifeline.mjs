// Loaded first into every process that the bootstrap runs. The process has a group of its own, so a SIGKILL of the
// bootstrap, or of its group, would pass it by and leave it holding the ports; the pipe from the bootstrap closes then.

import { Socket } from 'node:net';

const fd = process.env.SOTTO_LIFELINE_FD;
// Forked workers inherit --import and would take some other descriptor for the pipe.
delete process.env.SOTTO_LIFELINE_FD;

if (fd !== undefined) {
  new Socket({ fd: Number(fd) })
    .on('error', () => {})
    .on('close', () => process.kill(process.pid, 'SIGKILL'))
    .resume()
    .unref();
}
