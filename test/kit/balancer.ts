import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dieTogether, freePort, until } from '@sotto/test-servers';

export const balancerSkipReason = 'install HAProxy (`apt install haproxy`).';

/** A TCP load balancer in front of servers that report by `GET /readyz` whether they can serve. */
export interface Balancer {
  readonly origin: string;
  /** Resolves once it sends requests to every server. */
  hasAll(): Promise<void>;
  stop(): Promise<void>;
}

export const hasBalancer = (): boolean => spawnSync('haproxy', ['-v']).status === 0;

/** A part of HAProxy's configuration: a page with its statistics at a port. */
export const statsAt = (port: number): string => `listen stats
  bind 127.0.0.1:${port}
  mode http
  stats enable
  stats uri /
`;

/** Reads what HAProxy knows about each server, by the names of its columns: `status` is `UP` or `DOWN`, `check_status` such as `L7OK`. */
export async function readStats(port: number): Promise<Readonly<Record<string, string | undefined>>[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/;csv`)).text();
  const [names = [], ...rows] = text
    .replace(/^# /, '')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return rows
    .map((row) => Object.fromEntries(names.map((name, column) => [name, row[column]])))
    .filter(({ svname }) => svname !== 'FRONTEND' && svname !== 'BACKEND');
}

/**
 * Starts HAProxy. It checks readiness four times a second, where a real deployment checks every few seconds. A busy machine may delay an
 * answer, so only an answer counts, and the first one does.
 *
 * @param origins - The origins of the servers: `http://127.0.0.1:<port>`.
 */
export async function startBalancer(origins: readonly string[]): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-test-balancer-'));
  const port = await freePort();
  const statsPort = await freePort();
  const file = join(folder, 'haproxy.cfg');
  const servers = origins.map(
    (origin, index) => `  server s${index} ${new URL(origin).host} check inter 250ms fall 1 rise 1`,
  );
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 2s
  timeout check 30s
  timeout client 10m
  timeout server 10m
  retries 3
  option redispatch
listen servers
  bind 127.0.0.1:${port}
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
${servers.join('\n')}
${statsAt(statsPort)}`,
  );
  const child: ChildProcess = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
  const origin = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${origin}/readyz`)).ok, 'the balancer has servers');
  const hasAll = (): Promise<void> =>
    until(
      async () => (await readStats(statsPort)).filter(({ status }) => status === 'UP').length === origins.length,
      'the balancer sends requests to every server',
    );
  return {
    origin,
    hasAll,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => {
          rmSync(folder, { recursive: true, force: true });
          resolve();
        });
        child.kill('SIGTERM');
      }),
  };
}
