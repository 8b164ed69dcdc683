import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { simulatedEvidence } from '../gateway/testing/simulated-evidence.ts';
import { recordingTerminal, useFiles } from '../releases/testing/made-release.ts';
import { sotto } from './sotto.ts';

const files = useFiles();
afterAll(() => rmSync(files.folder, { recursive: true }));

const nonce = '0123456789abcdef'.repeat(4);
const origin = 'https://broker.example';
const exporter = new Uint8Array(32).fill(9);
const hex = '09'.repeat(32);
const at = '2026-11-29T10:00:00Z';
const notAfter = Date.parse(at) / 1000 + 3600;
const gateway = { origin, notAfter, bindsChannels: true };
const ofKey = files.write(await simulatedEvidence(nonce, { ...gateway, bindsChannels: false }));
const ofConnection = files.write(await simulatedEvidence(nonce, gateway, exporter));

async function verify(file: string, ...more: readonly string[]) {
  const { terminal, said } = recordingTerminal();
  const code = await sotto(terminal, ['verify', origin, '--recorded', file, '--nonce', nonce, ...more]);
  return { code, ...said };
}

describe('recorded evidence', () => {
  it('is checked as of its time, and the report says that no service was contacted', async () => {
    const { out, note } = await verify(ofKey, '--recorded-at', at);
    expect(out).toMatch(/^Recorded evidence, checked as of 2026-11-29T10:00:00\.000Z; no service was contacted\.\n/);
    expect(out).toMatch(/passed +gateway\.key_set_validity\n/);
    expect(out).not.toMatch(/Verified at|not seen|content may go to another machine/);
    expect(note).toContain('cryptographically_checked is required');
    const report = JSON.parse((await verify(ofKey, '--recorded-at', at, '--json')).out) as object;
    expect(report).toMatchObject({ recorded: true, checked_as_of: '2026-11-29T10:00:00.000Z', binding: 'none' });
    expect(report).not.toHaveProperty('verified_at');
    expect((await verify(ofKey, '--recorded-at', '2026-11-30T10:00:00Z')).out).toMatch(/FAILED +gateway\.key_set_val/);
  });

  it('of one connection verifies with what that connection exported, and only with it', async () => {
    const { out } = await verify(ofConnection, '--recorded-at', at, '--exporter', hex);
    expect(out).toMatch(/passed +gateway\.channel\n/);
    expect(out).toContain('Binding              channel: The evidence covers the connection that exported this value.');
    const other = await verify(ofConnection, '--recorded-at', at, '--exporter', 'ab'.repeat(32));
    expect(other.out).toMatch(/FAILED +gateway\.channel/);
  });

  it.each<[string, string, readonly string[], RegExp]>([
    ['a time', ofKey, [], /^--recorded-at is missing/],
    ['a date', ofKey, ['--recorded-at', '5'], /^--recorded-at must be a time in UTC .*; got "5"/],
    ['a zone', ofKey, ['--recorded-at', '2026-11-29T10:00:00'], /^--recorded-at must be a time in UTC/],
    [
      'what its connection exported',
      ofConnection,
      ['--recorded-at', at],
      /^The recorded evidence is for one connection/,
    ],
    ['a whole export', ofKey, ['--recorded-at', at, '--exporter', '00'], /^--exporter must be 64 .*; got "00"/],
  ])('is refused without %s', async (_, file, options, message) => {
    const { code, note } = await verify(file, ...options);
    expect({ code, note }).toEqual({ code: 2, note: expect.stringMatching(message) });
  });
});
