import { spawnSync } from 'node:child_process';
import { end, startNode } from './contender.ts';

/** What a caller asks, how often and for how long. */
export interface Offer {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface Answered {
  /** When it was asked, in ms since the load began. */
  readonly at: number;
  readonly status: number;
  /** To the first byte. */
  readonly ms: number;
  readonly retryAfter: boolean;
}

/** Of so many requests one is a witness's. */
const witnessed = 20;

/**
 * Offers requests at a fixed rate; resolves when all are answered. Most come from a crowd, a process that is as busy as what
 * it asks. One of twenty comes from a witness: a process of its own that has little to do and is run first, so that its times
 * are those of the service.
 */
export async function offer(what: Offer): Promise<{ crowd: Answered[]; witness: Answered[] }> {
  const witnessRate = Math.max(1, Math.round(what.perSecond / witnessed));
  const [crowd, witness] = await Promise.all([
    askedBy({ ...what, perSecond: what.perSecond - witnessRate }, () => {}),
    askedBy({ ...what, perSecond: witnessRate }, runFirst),
  ]);
  return { crowd, witness };
}

/** Has a process wait for no other that is busier; where that is not allowed it is as the others are. */
export function runFirst(pid: number): void {
  spawnSync('renice', ['-n', '-15', '-p', String(pid)], { stdio: 'ignore' });
}

async function askedBy(what: Offer, prepare: (pid: number) => void): Promise<Answered[]> {
  const { child } = await startNode('./processes/caller.ts', [], false);
  if (child.pid !== undefined) prepare(child.pid);
  const answers = new Promise<Answered[]>((resolve, reject) => {
    child.once('message', (told) => resolve(told as Answered[]));
    child.once('exit', () => reject(new Error('a caller ended before it told what it was answered')));
  });
  child.send(what);
  const found = await answers;
  child.removeAllListeners('exit');
  await end(child);
  return found;
}
