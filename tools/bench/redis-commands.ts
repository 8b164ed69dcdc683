import { Redis } from 'ioredis';

/** What Redis did with one command since it started. */
interface CommandUse {
  readonly calls: number;
  /** The time in the command, in µs. That of a script has the time of its commands. */
  readonly us: number;
}

/** Returns what Redis did so far, by command (`INFO commandstats`). */
export async function commandsOf(url: string): Promise<ReadonlyMap<string, CommandUse>> {
  const redis = new Redis(url);
  const text = await redis.info('commandstats');
  await redis.quit();
  return new Map(
    [...text.matchAll(/^cmdstat_(\S+):calls=(\d+),usec=(\d+)/gm)].map(([, name = '', calls, us]) => [
      name,
      { calls: Number(calls), us: Number(us) },
    ]),
  );
}

/** Returns what a measurement of `requests` requests made of each command, per request, the most expensive first. */
export function perRequest(
  before: ReadonlyMap<string, CommandUse>,
  after: ReadonlyMap<string, CommandUse>,
  requests: number,
): readonly (readonly [command: string, use: CommandUse])[] {
  return [...after]
    .map(([name, { calls, us }]): readonly [string, CommandUse] => {
      const past = before.get(name);
      return [name, { calls: (calls - (past?.calls ?? 0)) / requests, us: (us - (past?.us ?? 0)) / requests }];
    })
    .filter(([, { us }]) => us >= 0.05)
    .sort(([, a], [, b]) => b.us - a.us);
}
