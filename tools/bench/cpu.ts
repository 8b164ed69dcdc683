import { readdirSync, readFileSync } from 'node:fs';

/** Returns the CPU time that the threads of processes have used so far, in µs. Linux only. */
export function cpuMicroseconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
}

/** Counts each living thread in nanoseconds. Ended threads, which are few, appear only in the process's ticks. */
function cpuOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
      const [running = '0'] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
      return sum + Number(running) / 1000;
    }, 0);
  } catch {
    return 0;
  }
}

/**
 * Returns the CPU time of a process and its children so far, including ended ones, in µs. The resolution is a clock
 * tick.
 */
export function familyMicroseconds(pid: number): number {
  const statOf = (each: string): readonly string[] =>
    readFileSync(`/proc/${each}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  const ticks = (fields: readonly string[], from: number, to: number): number =>
    fields.slice(from, to).reduce((sum, field) => sum + Number(field), 0);
  const own = ticks(statOf(String(pid)), 11, 15);
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return children.reduce((sum, child) => {
    try {
      const fields = statOf(child);
      return Number(fields[1]) === pid ? sum + ticks(fields, 11, 13) * 10_000 : sum;
    } catch {
      return sum;
    }
  }, own * 10_000);
}

/** Returns the resident memory of processes in MiB. */
export function residentMiB(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return sum + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  }, 0);
}

export const median = (values: readonly number[]): number => percentile(values, 50);

export function percentile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * at) / 100))] ?? Number.NaN;
}
