import { superviseNode } from './supervise.mjs';

/**
 * Runs the steps in order and stops at the first that fails, showing what it printed; one line a step. Resolves to the
 * exit `code` of the last step run.
 */
export async function runSteps(context, steps) {
  for (const { name, args } of steps) {
    const startedAt = performance.now();
    const { code, output } = await superviseNode(context, args, { capture: true });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (code !== 0) process.stdout.write(output);
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
    if (code !== 0) return { code };
  }
  return { code: 0 };
}
