import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { ask, bearer } from '../../kit/client.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Stage } from '../../kit/stage/stage.ts';

/** One of the two origins, for raw requests. Use it only within tests and hooks. */
export interface Origin {
  readonly name: 'control' | 'confidential';
  readonly url: string;
  /** A path that accepts a JSON body. */
  readonly post: string;
  readonly bodyLimit: number;
  /** The resident memory of its process in bytes. */
  rss(): number;
  /** The number of open descriptors of its process. */
  descriptors(): number;
}

export const originsOf = (stage: Stage): readonly [control: Origin, broker: Origin] => [
  {
    name: 'control',
    get url() {
      return new URL(stage.service.controlUrl).origin;
    },
    post: '/v1/inference/tickets',
    bodyLimit: 256 * 1024,
    rss: () => stage.service.control.residentBytes(),
    descriptors: () => descriptorsOf(stage.service.control.pid),
  },
  {
    name: 'confidential',
    get url() {
      return new URL(stage.service.baseUrl).origin;
    },
    post: '/v1/chat/completions',
    bodyLimit: 32 * 1024 * 1024,
    rss: () => stage.service.broker.residentBytes(),
    descriptors: () => descriptorsOf(stage.service.broker.pid),
  },
];

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Asserts that a normal request is served despite the hostile clients. */
export async function expectAlive({ service, reset }: Stage, account: TestAccount, model: string): Promise<void> {
  reset();
  const answer = await ask(service, account.inferenceKey, { model });
  expect(answer.status, answer.text).toBe(200);
  const balance = await fetch(`${service.controlUrl}/balance`, { headers: bearer(account.managementKey) });
  expect(balance.status).toBe(200);
  await balance.body?.cancel();
}
