import { readFileSync } from 'node:fs';

// Loaded into a process beside its own main. On SIGUSR2 it writes a file's content to stdout, as leaking code would.
const { PLANTED_LEAK: file = '' } = process.env;
process.on('SIGUSR2', () => process.stdout.write(`${readFileSync(file, 'utf8')}\n`));
