#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { runCli } from './cli/cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  readInput: () => text(process.stdin),
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
});
// A failed start may leave connections, tasks or a listener open, and one that was stopped early may wait for the lock of
// migrations. Each would keep the process alive. So it exits once its output is written.
process.stdout.write('', () => process.stderr.write('', () => process.exit()));
