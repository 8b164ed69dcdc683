import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { targetGroups } from './targets/index.ts';

export interface ParserFuzzOptions {
  /** For the names of targets; undefined: all. */
  readonly pattern: string | undefined;
  /** Both are shared out among the targets. */
  readonly runs: number;
  readonly seconds: number;
  readonly seed: number;
}

const child = fileURLToPath(new URL('fuzz-one.ts', import.meta.url));

/**
 * Fuzzes parsers one after the other, and answers how many findings there were. Each has a process of its own: what V8 keeps
 * for counting grows with all that ever ran, and asking takes longer with it.
 */
export async function fuzzParsers({ pattern, runs, seconds, seed }: ParserFuzzOptions): Promise<number> {
  let read = 0;
  let findings = 0;
  for (const [index, group] of targetGroups.entries()) {
    const chosen = (await group.load()).filter(({ name }) => new RegExp(pattern ?? '').test(name));
    const shares = chosen.reduce((sum, target) => sum + (target.share ?? 1), 0);
    for (const target of chosen) {
      // With a pattern, all that was asked for is for what it matches.
      const share = ((pattern === undefined ? group.share : 1) * (target.share ?? 1)) / shares;
      const budget = [Math.ceil(runs * share), seconds * share, seed];
      const running = fork(child, [String(index), target.name, ...budget.map(String)], { execArgv: process.execArgv });
      running.on('message', (done: { readonly runs: number }) => {
        read += done.runs;
      });
      const [code] = (await once(running, 'exit')) as [number | null];
      if (code !== 0) findings += 1;
    }
  }
  if (read + findings === 0) throw new Error(`no target is named like ${pattern}`);
  console.log(`${read} inputs, ${findings} findings`);
  return findings;
}
