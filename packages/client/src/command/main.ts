#!/usr/bin/env node
import { processTerminal } from './process-terminal.ts';
import { sotto } from './sotto.ts';

// The reader of a pipe may have left. Progress and errors are dropped then; without a reader of the answer, the command
// ends.
process.stderr.on('error', () => undefined);
process.stdout.on('error', () => process.exit(1));

process.exitCode = await sotto(processTerminal, process.argv.slice(2));
