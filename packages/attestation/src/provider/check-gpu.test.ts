import { expect, it } from 'vitest';
import type { GpuStanding } from '../nvidia/verify-nvidia.ts';
import { checkGpu } from './check-gpu.ts';

const nonce = 'ab'.repeat(32);
const time = { now: new Date('2026-01-15T00:00:00Z') };
const judged = (standing: GpuStanding) =>
  checkGpu(
    { tokens: [], key_set: {} },
    {
      nonce,
      time,
      verifyNvidia: async () => ({ standing, checks: [], gpus: [{ name: 'GPU-0', model: 'GH100' }] }),
    },
  );

it('names GPUs only from tokens under NVIDIA’s own chain: their keys come with the document', async () => {
  expect(await judged('token_checked')).toEqual({ standing: 'token_checked', models: ['GH100'] });
  expect(await judged('key_unpinned')).toEqual({ standing: 'key_unpinned', models: [] });
  expect(await judged('refuted')).toEqual({ standing: 'refuted', models: [] });
});

it('returns no findings without a nonce', async () => {
  const gpu = await checkGpu(
    { payload: { nonce } },
    { nonce: undefined, time, verifyNvidia: () => expect.unreachable('nobody is asked') },
  );
  expect(gpu).toEqual({ standing: 'none', reason: 'it is not known for which nonce it has to be', models: [] });
});
