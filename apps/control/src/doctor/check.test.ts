import { describe, expect, it } from 'vitest';
import { compareClocks } from './check.ts';
import { examinePlainHttp, judgeMemory } from './redis.ts';

const compare = (theirs: number, tookMs = 0) => compareClocks('a clock', { ours: 1_000_000, theirs, tookMs });

describe('compareClocks', () => {
  it.each([
    [1_000_000, 'ok', 'agrees with ours'],
    [998_500, 'ok', 'is 1.5 s from ours'],
    [1_003_000, 'warning', 'is 3.0 s from ours'],
    [960_000, 'wrong', 'is 40.0 s from ours'],
  ])('judges %i against 1,000,000', (theirs, verdict, found) => {
    expect(compare(theirs)).toMatchObject({ verdict, found });
  });

  it('does not report a slow answer as a wrong clock', () => {
    expect(compare(990_500, 10_000)).toMatchObject({ verdict: 'ok' });
  });
});

it.each([
  [400, 'ok', '400 of 1000 MiB are used (40 %)'],
  [799, 'ok', '799 of 1000 MiB are used (79 %)'],
  [800, 'warning', '800 of 1000 MiB are used (80 %)'],
  [950, 'wrong', '950 of 1000 MiB are used (95 %)'],
])('judges %i MiB of 1000 before Redis is full', (used, verdict, found) => {
  const mebibyte = 1024 * 1024;
  const finding = judgeMemory({ usedBytes: used * mebibyte, limitBytes: 1000 * mebibyte });
  expect(finding).toMatchObject({ subject: 'Redis’ memory', verdict, found });
  if (verdict !== 'ok') expect(finding.advice).toMatch(/maxmemory/);
});

const provider = (id: string, isPlain: boolean) => ({
  ...{ id, name: id, listed: true, privacy_class: 'private' as const, available: true },
  ...(isPlain ? { insecure_http: true as const } : {}),
});

it('warns of the providers that brokers reach without TLS, and of no others', () => {
  const findings = examinePlainHttp({
    digest: 'd',
    providers: [provider('acme', false), provider('ollama', true), provider('vllm', true)],
  });
  expect(findings).toEqual([
    {
      verdict: 'warning',
      subject: 'registry',
      found: 'brokers reach `ollama`, `vllm` without TLS: the network between them can read content',
      advice: expect.stringContaining('https://'),
    },
  ]);
  expect(examinePlainHttp({ digest: 'd', providers: [provider('acme', false)] })).toEqual([]);
});
