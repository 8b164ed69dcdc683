import { spawnSync } from 'node:child_process';
import { end, startNode } from './contender.ts';

/** The request, rate and duration of a load. */
export interface Offer {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface Answered {
  /** Start of the request, in ms since the load began. */
  readonly at: number;
  readonly status: number;
  /** Time to the first byte. */
  readonly ms: number;
  readonly retryAfter: boolean;
}

/** The witness sends one of this number of requests. */
const witnessed = 20;

/**
 * Offers requests at a fixed rate. Resolves when all have been answered. Most come from a crowd, a process that is as
 * busy as the service. One in twenty comes from a witness, a separate process with little work and a higher priority,
 * so that its times are those of the service.
 */
export async function offer(what: Offer): Promise<{ crowd: Answered[]; witness: Answered[] }> {
  const witnessRate = Math.max(1, Math.round(what.perSecond / witnessed));
  const [crowd, witness] = await Promise.all([
    askedBy({ ...what, perSecond: what.perSecond - witnessRate }, () => {}),
    askedBy({ ...what, perSecond: witnessRate }, runFirst),
  ]);
  return { crowd, witness };
}

/** Gives a process a higher priority than busier ones. If that is not allowed, it keeps the normal priority. */
export function runFirst(pid: number): void {
  spawnSync('renice', ['-n', '-15', '-p', String(pid)], { stdio: 'ignore' });
}

async function askedBy(what: Offer, prepare: (pid: number) => void): Promise<Answered[]> {
  const { child } = await startNode('./processes/caller.ts', [], false);
  if (child.pid !== undefined) prepare(child.pid);
  const answers = new Promise<Answered[]>((resolve, reject) => {
    child.once('message', (told) => resolve(told as Answered[]));
    child.once('exit', () => reject(new Error('a caller ended before it reported its answers')));
  });
  child.send(what);
  const found = await answers;
  child.removeAllListeners('exit');
  await end(child);
  return found;
}
