import { hardenProcess } from './hardening/harden-process.ts';

// Libraries read variables while they load. So load them only after the variables were taken away.
const hardened = hardenProcess();
if (hardened.ok) {
  const { serve } = await import('./serve.ts');
  await serve(hardened.environment);
} else {
  process.stderr.write(`sotto-confidential: ${hardened.message}\n`);
  process.exitCode = 1;
}
