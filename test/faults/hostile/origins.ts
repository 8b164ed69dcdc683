import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { TestAccount } from '../../kit/service.ts';
import { ask } from '../../routing/failover/ask.ts';
import type { Stage } from '../../routing/failover/suite.ts';

/** One of the two origins, to be spoken to byte by byte. Only within tests and hooks. */
export interface Origin {
  readonly name: 'control' | 'confidential';
  readonly url: string;
  /** A path that takes a JSON body. */
  readonly post: string;
  readonly bodyLimit: number;
  /** Bytes of memory of its process. */
  rss(): number;
  /** Descriptors that its process has open. */
  descriptors(): number;
}

export const originsOf = (stage: Stage): readonly Origin[] => [
  {
    name: 'control',
    get url() {
      return new URL(stage.service.controlUrl).origin;
    },
    post: '/v1/inference/tickets',
    bodyLimit: 256 * 1024,
    rss: () => rssOf(stage.service.control.pid),
    descriptors: () => descriptorsOf(stage.service.control.pid),
  },
  {
    name: 'confidential',
    get url() {
      return new URL(stage.service.baseUrl).origin;
    },
    post: '/v1/chat/completions',
    bodyLimit: 32 * 1024 * 1024,
    rss: () => rssOf(stage.service.broker.pid),
    descriptors: () => descriptorsOf(stage.service.broker.pid),
  },
];

const statusOf = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8');
const rssOf = (pid: number): number => Number(/VmRSS:\s+(\d+) kB/.exec(statusOf(pid))?.[1]) * 1024;
const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** An honest request is served, whatever others do. */
export async function expectAlive({ service, world }: Stage, account: TestAccount, model: string): Promise<void> {
  world.reset();
  const answer = await ask(service, account, { model });
  expect(answer.status, answer.text).toBe(200);
  const balance = await fetch(`${service.controlUrl}/balance`, {
    headers: { authorization: `Bearer ${account.managementKey}` },
  });
  expect(balance.status).toBe(200);
  await balance.body?.cancel();
}
