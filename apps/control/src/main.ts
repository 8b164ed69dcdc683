#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { runCli } from './cli/cli.ts';

let isClosed = false;
let isWritten = true;
process.stdout.on('error', (error) => {
  isClosed = true;
  // The reader has seen enough, as `head` has.
  if ('code' in error && error.code === 'EPIPE') return;
  isWritten = false;
  process.stderr.write(`sotto-control: cannot write the output: ${error.message}\n`);
});
process.stderr.on('error', () => {});
const code = await runCli(process.argv.slice(2), {
  environment: process.env,
  readInput: () => text(process.stdin),
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
  isClosed: () => isClosed,
});
// A failed start may leave connections, tasks or a listener open, and one that was stopped early may wait for the lock of
// migrations. Each would keep the process alive. So it exits once its output is written.
process.stdout.write('', () => {
  process.exitCode = isWritten ? code : 1;
  process.stderr.write('', () => process.exit());
});
