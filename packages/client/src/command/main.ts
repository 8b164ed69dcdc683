#!/usr/bin/env node
import { sotto } from './sotto.ts';
import type { Terminal } from './terminal.ts';

/** The only module of this package that touches the process. */
const terminal: Terminal = {
  environment: process.env,
  userId: process.getuid?.(),
  input: process.stdin,
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  onInterrupt(listener) {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    for (const signal of signals) process.on(signal, listener);
    return () => {
      for (const signal of signals) process.off(signal, listener);
    };
  },
};

// The reader of a pipe may have left. Progress and errors are dropped then; without a reader of the answer, the command
// ends.
process.stderr.on('error', () => undefined);
process.stdout.on('error', () => process.exit(1));

process.exitCode = await sotto(terminal, process.argv.slice(2));
