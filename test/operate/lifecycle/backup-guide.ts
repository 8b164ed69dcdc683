import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const guide = readFileSync(new URL('../../../docs/operate/backup-and-restore.md', import.meta.url), 'utf8');
const block = (name: string): string =>
  new RegExp(`<!-- test: ${name} -->\\n\`\`\`sh\\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? 'exit 1';

/** Runs the guide's commands in a folder, with the programs of a packaged PostgreSQL. */
export function backupGuide(bin: string, folder: string) {
  const run = (name: string, variables: Readonly<Record<string, string>>): void => {
    const env = { PATH: `${bin}:${process.env.PATH}`, ...variables };
    execFileSync('bash', ['-euc', block(name)], { cwd: folder, env });
  };
  return {
    backUp: (databaseUrl: string): void => run('backup', { DATABASE_URL: databaseUrl }),
    restore: (databaseUrl: string): void => run('restore', { NEW_DATABASE_URL: databaseUrl }),
  };
}
