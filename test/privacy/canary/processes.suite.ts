import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { StageOf } from './stage.ts';

const run = promisify(execFile);
const isLinux = process.platform === 'linux';
const secretNames = ['TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY', 'ACCOUNT_REF_KEY', 'SESSION_SECRET'] as const;

/** The view that other users of the machine have of the processes, and the secrets that each process received. */
export function processesSuite(stage: StageOf): void {
  const environmentOf = (pid: number): Record<string, string> =>
    Object.fromEntries(
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    );

  describe.skipIf(!isLinux)('the processes', () => {
    it('each have only their own secrets: the broker has no database, no account references, no sessions', () => {
      const { broker, control } = stage().service;
      const given = environmentOf(broker.pid);
      expect(given.TICKET_SEALING_KEY).toBeDefined();
      for (const name of ['DATABASE_URL', 'ACCOUNT_REF_KEY', 'SESSION_SECRET', 'SMTP_URL']) {
        expect(Object.keys(given)).not.toContain(name);
      }
      expect(Object.values(given).join('\n')).not.toContain('postgres');
      for (const name of secretNames) expect(environmentOf(control.pid)[name]?.length, name).toBeGreaterThan(40);
    });

    it('show no secret in the list of processes', () => {
      const secrets = secretNames.map((name) => environmentOf(stage().service.control.pid)[name] ?? '');
      const { inferenceKey, managementKey } = stage().account;
      const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
      const lines = pids.map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        } catch {
          // The process has ended since.
          return '';
        }
      });
      expect(lines.some((line) => line.includes('apps/confidential/bundle/main.js'))).toBe(true);
      for (const secret of [...secrets, inferenceKey, managementKey, ...stage().secrets.values()]) {
        expect(lines.filter((line) => line.includes(secret))).toEqual([]);
      }
    });

    it.skipIf(process.getuid?.() !== 0)('show their environment to no other user', async () => {
      const { broker, control } = stage().service;
      for (const { pid } of [broker, control]) {
        const nobody = { uid: 65_534, gid: 65_534 };
        await expect(run('cat', [`/proc/${pid}/environ`], nobody)).rejects.toThrow(/ermission denied/);
        // Other users can read the command line, so the environment is not hidden by accident.
        expect((await run('cat', [`/proc/${pid}/cmdline`], nobody)).stdout).toContain('bundle/main.js');
      }
    });
  });
}
