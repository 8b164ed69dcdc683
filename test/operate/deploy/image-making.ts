import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/**
 * Whether images are made in this run. It takes minutes and root, and loads two Debians: it is done before a release
 * (docs/RELEASING.md), and not in every run.
 */
export const canMakeImages = (programs: readonly string[]): boolean =>
  process.env.SOTTO_TEST_IMAGES === '1' &&
  process.getuid?.() === 0 &&
  programs.every((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0);

/** How to have them made, as a sentence. */
export const howToMakeImages = (programs: readonly string[]): string =>
  `as root on Debian, with ${programs.join(', ')} on the PATH, set SOTTO_TEST_IMAGES=1.`;

/** Where this machine's own packages come from: what the Dockerfiles take from an archive of one day. */
export function debianMirror(): string {
  const files = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'].filter((file) => existsSync(file));
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return /^(?:URIs:|deb(?: \[[^\]]*\])?) *(http\S+)/m.exec(text)?.[1] ?? 'http://deb.debian.org/debian';
}
