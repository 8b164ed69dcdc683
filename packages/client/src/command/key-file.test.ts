import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readKeyFile } from './key-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'sotto-key-'));
afterAll(() => rmSync(folder, { recursive: true }));

const userId = process.getuid?.();
/** A file of ours that holds a key. */
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
  ])('of mode %o is refused, with the command that closes it', (mode, shown) => {
    const file = keyFile(mode);
    expect(() => readKeyFile(file, userId)).toThrow(
      `--key-file ${file}: its mode is ${shown}, so other users of this machine can get at the key. Run \`chmod 600 ${file}\`.`,
    );
  });

  it('tells the command so that a shell takes it', () => {
    const file = keyFile(0o644, "it's a key");
    expect(() => readKeyFile(file, userId)).toThrow(`Run \`chmod 600 '${folder}/it'\\''s a key'\`.`);
  });

  it('of another owner is read, as is any on Windows: its user cannot close it', () => {
    const file = keyFile(0o644);
    expect(readKeyFile(file, (userId ?? 0) + 1)).toBe('sotto_inf_secret\n');
    expect(readKeyFile(file, undefined)).toBe('sotto_inf_secret\n');
  });
});

it('that is not there is told', () => {
  expect(() => readKeyFile(join(folder, 'none'), userId)).toThrow(/^--key-file .*none: ENOENT\.$/);
});
