import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@sotto/test-servers';
import { until } from '../../test/kit/service.ts';
import { type Contender, end, launch, plainTarget, startNode } from './contender.ts';
import type { Target } from './load.ts';

/** The provider without a gateway, which all results are compared with. */
export const startDirect = (upstream: string): Contender => ({
  name: 'provider alone',
  target: plainTarget(new URL(upstream).origin),
  pids: () => [],
  stop: async () => {},
});

const passThroughNames = {
  floor: 'pass-through (floor)',
  'stream-send': 'pass-through, reply.send(stream)',
  redis: 'pass-through with the same Redis calls',
} as const;

/** The floor (see `processes/pass-through.ts`), or a slower variant of it. */
export async function startPassThrough(
  upstream: string,
  variant: keyof typeof passThroughNames,
  redisUrl?: string,
  { pinned = true } = {},
): Promise<Contender> {
  const args = [upstream, variant, ...(redisUrl === undefined ? [] : [redisUrl])];
  const { port, child } = await startNode('./processes/pass-through.ts', args, pinned);
  return {
    name: passThroughNames[variant],
    target: plainTarget(`http://127.0.0.1:${port}`),
    pids: () => [child.pid ?? 0],
    stop: () => end(child),
  };
}

/** nginx as a reverse proxy without buffering, if it is on the PATH. */
export async function startNginx(upstream: string): Promise<Contender | undefined> {
  if (spawnSync('nginx', ['-v']).error !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-nginx-'));
  const port = await freePort();
  const { host } = new URL(upstream);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_processes 1; daemon off; master_process off;
     events { worker_connections 8192; }
     http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
       upstream provider { server ${host}; keepalive 256; }
       server { listen 127.0.0.1:${port}; client_max_body_size 64m; location / {
         proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header connection ""; proxy_buffering off; } } }`,
  );
  const child = launch(['nginx', '-c', join(folder, 'nginx.conf')], { pinned: true });
  await listening(`http://127.0.0.1:${port}/`);
  return {
    name: 'nginx',
    target: plainTarget(`http://127.0.0.1:${port}`),
    pids: () => [child.pid ?? 0],
    async stop() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const optionalFolder = fileURLToPath(new URL('./optional/', import.meta.url));

/** Portkey's gateway, installed beside the benchmark at the first run. Skipped if it cannot be installed. */
export async function startPortkey(upstream: string, { pinned = true } = {}): Promise<Contender | undefined> {
  const script = join(optionalFolder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(script)) {
    spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: optionalFolder,
      stdio: 'ignore',
    });
  }
  if (!existsSync(script)) return undefined;
  const port = await freePort();
  const preload = join(optionalFolder, 'loopback.cjs');
  const child = launch([process.execPath, '--require', preload, script, `--port=${port}`, '--headless'], {
    pinned,
    environment: { ...process.env, NODE_ENV: 'production' } as Record<string, string>,
    cwd: dirname(script),
  });
  await listening(`http://127.0.0.1:${port}/`);
  const target: Target = {
    ...plainTarget(`http://127.0.0.1:${port}`),
    headers: () => ({
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': upstream,
      authorization: 'Bearer bench',
    }),
  };
  return { name: 'Portkey gateway', target, pids: () => [child.pid ?? 0], stop: () => end(child) };
}

/** Resolves once a server answers anything at a URL. */
export async function listening(url: string): Promise<void> {
  await until(async () => (await fetch(url)).status > 0, `${url} listens`, 60_000);
}
