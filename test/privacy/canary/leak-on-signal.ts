import { readFileSync } from 'node:fs';

// Loaded into a process beside its own main: on SIGUSR2 it writes to stdout what a file says, as code that leaks would.
const { PLANTED_LEAK: file = '' } = process.env;
process.on('SIGUSR2', () => process.stdout.write(`${readFileSync(file, 'utf8')}\n`));
