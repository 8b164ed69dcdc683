#!/usr/bin/env node
import { sotto } from './sotto.ts';
import type { Terminal } from './terminal.ts';

/** The process itself: the one place of this package that touches it. */
const terminal: Terminal = {
  environment: process.env,
  userId: process.getuid?.(),
  input: process.stdin,
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  onInterrupt(listener) {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.on(signal, listener);
    return () => {
      for (const signal of signals) process.off(signal, listener);
    };
  },
};

// Whoever read along has left: what is said beside the answer may go unheard, the answer itself may not.
process.stderr.on('error', () => undefined);
process.stdout.on('error', () => process.exit(1));

process.exitCode = await sotto(terminal, process.argv.slice(2));
