import { takeGround } from './ground/take-ground.ts';

// Libraries read variables while they load. So load them only after the variables were taken away.
const ground = takeGround();
if (ground.ok) {
  const { serve } = await import('./serve.ts');
  await serve(ground.environment);
} else {
  process.stderr.write(`sotto-confidential: ${ground.message}\n`);
  process.exitCode = 1;
}
