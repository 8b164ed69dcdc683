import { afterEach } from 'vitest';
import { runningOutputs } from './running-outputs.ts';

/*
 * Vitest `setupFiles`: under a test that failed stand the warnings and errors that the service logged meanwhile. An answer of 503
 * names no cause to its caller; the log does.
 */

const mostLines = 20;
const warning = 40;

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  const since = task.result.startTime ?? 0;
  const lines = [...runningOutputs].flatMap((output) => output.join('').split('\n').filter(isWarning(since)));
  if (lines.length > 0) throw new Error(`the service logged meanwhile:\n${lines.slice(-mostLines).join('\n')}`);
});

const isWarning =
  (since: number) =>
  (line: string): boolean => {
    const [, level, time] = /^\{"level":(\d+),"time":(\d+)/.exec(line) ?? [];
    return Number(level) >= warning && Number(time) >= since;
  };
