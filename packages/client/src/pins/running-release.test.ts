import type { Verdict } from '@sotto/attestation';
import { expect, it } from 'vitest';
import type { PinnedRelease } from './pinned-release.ts';
import { releasesOf } from './running-release.ts';

const release = (version: string, logged_at: string): PinnedRelease => ({
  ...{ version, logged_at, released_at: logged_at, commit: 'ab'.repeat(20), log: 'log.example.com, entry 0' },
  ...{ signed_by: { identity: 'who', issuer: 'https://issuer.example' }, statement_sha256: 'cd'.repeat(32) },
});
const old = release('0.9.0', '2026-10-01T00:00:00Z');
// Versions are no numbers: the time in the log decides what is newest.
const newest = release('0.10.0', '2026-11-01T00:00:00Z');
const pins = { gateway: {}, releases: [newest, old] };
const of = (version: string | undefined, verdict: Verdict = 'cryptographically_checked') =>
  releasesOf(pins, { verdict, pin: { name: undefined, release: version, expiresAt: undefined } });

it('names the release of the matched pin, and the newest that is pinned', () => {
  expect(of('0.9.0')).toEqual({ running: old, newest });
  expect(of('0.10.0', 'hardware_verified')).toEqual({ running: newest, newest });
});

it('compares with releases of the same signer alone', () => {
  const other = {
    ...release('2.0', '2026-11-20T00:00:00Z'),
    signed_by: { identity: 'x', issuer: 'https://i.example' },
  };
  const tagged = (version: string, at: string): PinnedRelease => ({
    ...release(version, at),
    signed_by: { identity: `https://a.example/release.yml@refs/tags/v${version}`, issuer: 'https://issuer.example' },
  });
  const [first, second] = [tagged('0.1.0', '2026-10-01T00:00:00Z'), tagged('0.2.0', '2026-10-02T00:00:00Z')];
  const releases = [second, other, first];
  const verdict = 'hardware_verified';
  const found = releasesOf(
    { gateway: {}, releases },
    { verdict, pin: { name: undefined, expiresAt: undefined, release: '0.1.0' } },
  );
  expect(found).toEqual({ running: first, newest: second });
});

it('names no running release for a pin by hand, one that the pins do not have, and evidence that proves nothing', () => {
  for (const found of [of(undefined), of('0.8.0'), of('0.9.0', 'untrusted'), of('0.9.0', 'policy_matched')]) {
    expect(found).toEqual({ running: undefined, newest });
  }
  expect(releasesOf(pins, { verdict: 'hardware_verified', pin: undefined }).running).toBeUndefined();
  expect(releasesOf({ gateway: {} }, { verdict: 'hardware_verified', pin: undefined })).toEqual({});
});
