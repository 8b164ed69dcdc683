import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readKeyFile } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'sotto-key-'));
afterAll(() => rmSync(folder, { recursive: true }));

const userId = process.getuid?.();
/** Creates a key file of the current user. */
function keyFile(mode: number, name = 'key'): string {
  const file = join(folder, name);
  writeFileSync(file, 'sotto_inf_secret\n');
  chmodSync(file, mode);
  return file;
}

describe.skipIf(userId === undefined)('a file with a key', () => {
  it.each([0o600, 0o400, 0o700])('of mode %o is read', (mode) => {
    expect(readKeyFile(keyFile(mode), userId)).toBe('sotto_inf_secret\n');
  });

  it.each([
    [0o644, '0644'],
    [0o640, '0640'],
    [0o604, '0604'],
    [0o620, '0620'],
    [0o666, '0666'],
  ])('of mode %o is refused, with the command that fixes the mode', (mode, shown) => {
    const file = keyFile(mode);
    expect(() => readKeyFile(file, userId)).toThrow(
      `--key-file ${file}: its mode is ${shown}, so other users of this machine can read or change it. Run \`chmod 600 ${file}\`.`,
    );
  });

  it('quotes the path of the command for a shell', () => {
    const file = keyFile(0o644, "it's a key");
    expect(() => readKeyFile(file, userId)).toThrow(`Run \`chmod 600 '${folder}/it'\\''s a key'\`.`);
  });

  it('of another owner, or on Windows, is read: the user cannot change its mode', () => {
    const file = keyFile(0o644);
    expect(readKeyFile(file, (userId ?? 0) + 1)).toBe('sotto_inf_secret\n');
    expect(readKeyFile(file, undefined)).toBe('sotto_inf_secret\n');
  });
});

it('a missing key file is reported', () => {
  expect(() => readKeyFile(join(folder, 'none'), userId)).toThrow(/^--key-file .*none: there is no such file\.$/);
});
