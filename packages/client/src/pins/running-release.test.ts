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

it('names no running release for a pin by hand, one that the pins do not have, and evidence that proves nothing', () => {
  for (const found of [of(undefined), of('0.8.0'), of('0.9.0', 'untrusted'), of('0.9.0', 'policy_matched')]) {
    expect(found).toEqual({ running: undefined, newest });
  }
  expect(releasesOf(pins, { verdict: 'hardware_verified', pin: undefined }).running).toBeUndefined();
  expect(releasesOf({ gateway: {} }, { verdict: 'hardware_verified', pin: undefined })).toEqual({});
});
