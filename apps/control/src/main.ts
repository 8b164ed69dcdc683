#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { runCli } from './cli/cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  readInput: () => text(process.stdin),
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
});
// What a start that failed has opened (connections, tasks, a listener) must not keep the process alive; what was said has
// left by then.
if (process.exitCode !== 0) process.stdout.write('', () => process.stderr.write('', () => process.exit()));
