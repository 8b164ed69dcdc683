import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@sotto/test-servers';
import { type Contender, end, launch } from './contender.ts';
import { familyMicroseconds } from './cpu.ts';
import { listening } from './others.ts';

/** How another gateway is started in front of the benchmark's provider. */
interface Peer {
  readonly name: string;
  /** The setting with the path of its program. Without it, the peer is left out. */
  readonly setting: string;
  /** The command line after the program, its files, and what it reads from the environment. */
  start(at: { readonly upstream: string; readonly port: number; readonly folder: string }): {
    readonly args: readonly string[];
    readonly files?: Readonly<Record<string, string>>;
    readonly environment?: Readonly<Record<string, string>>;
  };
  /** Its name for a model of the provider. */
  model(name: string): string;
  readonly headers: Readonly<Record<string, string>>;
}

/** For a peer that does not start without a key. */
const key = `sk-${randomBytes(32).toString('hex')}`;

/** The gateways that were run with this benchmark. Each has its own defaults, and none has a database, so none holds money. */
const peers: readonly Peer[] = [
  {
    name: 'LiteLLM proxy',
    setting: 'BENCH_LITELLM',
    start: ({ upstream, port, folder }) => ({
      args: ['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', String(port)],
      files: {
        'config.yaml': JSON.stringify({
          model_list: [
            { model_name: '*', litellm_params: { model: 'openai/*', api_base: upstream, api_key: 'bench' } },
          ],
        }),
      },
      environment: { LITELLM_MASTER_KEY: key },
    }),
    model: (name) => name,
    headers: { authorization: `Bearer ${key}` },
  },
  {
    name: 'noveum-ai-gateway',
    setting: 'BENCH_NOVEUM',
    start: ({ upstream, port }) => ({
      args: [],
      environment: {
        HOST: '127.0.0.1',
        PORT: String(port),
        OPENAI_BASE_URL: new URL(upstream).origin,
        RUST_LOG: 'warn',
      },
    }),
    model: (name) => name,
    headers: { authorization: `Bearer ${key}`, 'x-provider': 'openai' },
  },
];

export interface StartedPeer extends Contender {
  /** Seconds from the launch of the program to its first answer. */
  readonly startS: number;
}

/** Starts the peers that this machine has. Returns them, and the settings of those that it lacks. */
export async function startPeers(
  upstream: string,
): Promise<{ readonly started: readonly StartedPeer[]; readonly absent: readonly string[] }> {
  const started: StartedPeer[] = [];
  const absent: string[] = [];
  for (const peer of peers) {
    const program = process.env[peer.setting];
    if (program === undefined) absent.push(`${peer.name} (${peer.setting})`);
    else started.push(await startPeer(peer, program, upstream));
  }
  return { started, absent };
}

async function startPeer(peer: Peer, program: string, upstream: string): Promise<StartedPeer> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-peer-'));
  const port = await freePort();
  const { args, files = {}, environment = {} } = peer.start({ upstream, port, folder });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const begun = performance.now();
  const child = launch([program, ...args], {
    pinned: false,
    environment: { ...process.env, ...environment } as Record<string, string>,
    cwd: folder,
  });
  const origin = `http://127.0.0.1:${port}`;
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', () => reject(new Error(`${peer.name} (${program}) ended before it answered`)));
  });
  await Promise.race([listening(`${origin}/`), ended]);
  ended.catch(() => {});
  const pid = child.pid ?? 0;
  return {
    name: peer.name,
    startS: (performance.now() - begun) / 1000,
    target: { origin, path: '/v1/chat/completions', model: peer.model, headers: () => ({ ...peer.headers }) },
    pids: () => [pid],
    cpuMicroseconds: () => familyMicroseconds(pid),
    async stop() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
