import type { FuzzTarget } from './target.ts';

/** An input that broke a promise; the cause says which. */
export class Finding extends Error {
  readonly input: Buffer;

  constructor(target: string, input: Buffer, cause: unknown) {
    super(`a finding in ${target}`, { cause });
    this.name = 'Finding';
    this.input = input;
  }
}

/** Of our own thread's CPU: on a busy machine a second by the clock says nothing. */
const slowMs = 1000;
const cpuMs = (): number => process.threadCpuUsage().user / 1000;

/**
 * Has a target read one input, and returns its CPU time in ms. Throws a `Finding` where the target threw, took more than
 * `mostMs`, or changed what all objects inherit.
 */
export async function readOnce(target: FuzzTarget, input: Buffer, mostMs = slowMs): Promise<number> {
  const startedAt = cpuMs();
  try {
    const answer = target.read(input);
    if (answer instanceof Promise) await answer;
  } catch (error) {
    throw new Finding(target.name, input, error);
  }
  const tookMs = cpuMs() - startedAt;
  if (tookMs > mostMs) throw new Finding(target.name, input, new Error(`took ${Math.round(tookMs)} ms of CPU`));
  for (const inherited in {}) throw new Finding(target.name, input, new Error(`every object now has \`${inherited}\``));
  return tookMs;
}
