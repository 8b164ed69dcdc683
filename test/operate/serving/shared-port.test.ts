import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { shards } from '@sotto/state';
import { freePort, withRedis } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { bearer, hello } from '../../kit/client.ts';
import { fromSource } from '../../kit/programs.ts';
import { until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';

const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

/** A process's exit code and its last line of output. */
async function endOf(child: ChildProcess): Promise<[number | null, string | undefined]> {
  let said = '';
  child.stderr?.on('data', (piece: Buffer) => {
    said += piece.toString('utf8');
  });
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return [code, said.trim().split('\n').at(-1)];
}

await describeStage(
  'brokers that share a port',
  { ...oneModel, environment: { CONFIDENTIAL_SHARE_PORT: 'on' } },
  (stage) => {
    // Only Linux distributes connections over the processes of a port.
    it.skipIf(process.platform !== 'linux')(
      'brokers of one host share a port: both get connections, and one continues when the other has gone',
      async () => {
        const { service } = stage;
        const account = await service.createAccount();
        const port = Number(new URL(service.baseUrl).port);
        const second = await service.addBroker({ port });
        const statuses = async (): Promise<number[]> => {
          const asked = Array.from({ length: 40 }, async () => {
            const answer = await fetch(`${service.baseUrl}/chat/completions`, {
              method: 'POST',
              headers: { ...bearer(account.inferenceKey), 'content-type': 'application/json', connection: 'close' },
              body: JSON.stringify({ model: 'm/one', messages: hello }),
            });
            await answer.text();
            return answer.status;
          });
          return Promise.all(asked);
        };
        const all = Array(40).fill(200);
        // `addBroker` has seen one of the two ready. The new one may still be starting.
        await until(async () => (await statuses()).every((status) => status === 200), 'both are ready');
        expect(await statuses()).toEqual(all);
        await service.broker.kill9();
        await until(async () => (await statuses()).every((status) => status === 200), 'the second serves alone');
        await second.process.kill9();
        await expect(fetch(`${service.baseUrl}/models`)).rejects.toThrow();
      },
    );

    const startControl = async (more: Readonly<Record<string, string>> = {}): Promise<ChildProcess> => {
      const main = fileURLToPath(new URL('../../../apps/control/src/main.ts', import.meta.url));
      const { pool, redisUrl = '' } = stage.service;
      const env = {
        ...{ PATH: process.env.PATH ?? '', HOST: '127.0.0.1', CONTROL_PORT: String(await freePort()) },
        ...{ DATABASE_URL: pool.options.connectionString ?? '', REDIS_URL: redisUrl },
        ...{ TICKET_SEALING_KEY: key(1), SETTLEMENT_MAC_KEY: key(2), ACCOUNT_REF_KEY: key(3), SESSION_SECRET: key(4) },
        ...more,
      };
      return spawn(process.execPath, [...fromSource, main, 'serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    };

    it('a control that is stopped while another one migrates exits, and does not migrate later', async () => {
      const other = await stage.service.pool.connect();
      await other.query('select pg_advisory_lock(7283641)');
      const child = await startControl();
      const ended = endOf(child);
      const waiting = "select 1 from pg_locks where locktype = 'advisory' and objid = 7283641 and not granted";
      await until(async () => (await other.query(waiting)).rowCount === 1, 'control waits for the lock');
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
      await other.query('select pg_advisory_unlock(7283641)');
      other.release();
    });

    it.each(['CONTROL_PORT', 'METRICS_PORT'])(
      'a control whose %s is taken says so and exits, whatever it has opened by then',
      async (variable) => {
        const taken = new URL(stage.provider('alpha').baseUrl).port;
        const child = await startControl({ [variable]: taken });
        const line = `sotto-control: ${variable} is \`${taken}\`: another process listens there; choose a free one`;
        expect(await endOf(child)).toEqual([1, line]);
      },
    );

    it.each([
      ['CONFIDENTIAL_PORT', ', or let brokers share it with CONFIDENTIAL_SHARE_PORT=on'],
      ['METRICS_PORT', ''],
    ])('a broker whose %s is taken says so and exits, and stays a member of no shard', async (variable, advice) => {
      const taken = new URL(stage.provider('alpha').baseUrl).port;
      const main = fileURLToPath(new URL('../../../apps/confidential/src/main.ts', import.meta.url));
      const before = await members();
      const child = spawn(process.execPath, [...fromSource, main], {
        env: {
          ...{ PATH: process.env.PATH ?? '', HOST: '127.0.0.1', CONFIDENTIAL_TLS: 'off' },
          ...{ REDIS_URL: stage.service.redisUrl ?? '', ATTESTATION: 'off' },
          ...{ TICKET_SEALING_KEY: key(1), SETTLEMENT_MAC_KEY: key(2) },
          ...{ CONFIDENTIAL_PORT: String(await freePort()), [variable]: taken },
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const line = `sotto-confidential: ${variable} is \`${taken}\`: another process listens there; choose a free one`;
      expect(await endOf(child)).toEqual([1, line + advice]);
      expect([...(await members())].filter((id) => !before.has(id))).toEqual([]);
    });

    /** The processes whose lease in a shard has not lapsed. */
    const members = (): Promise<Set<string>> =>
      withRedis(stage.service.redisUrl ?? '', async (redis) => {
        const ids: string[] = [];
        for (const shard of shards) {
          const fields = Object.keys(await redis.hgetall(`sotto:{w${shard}}:clients`));
          ids.push(...fields.filter((field) => field.endsWith(' n')));
        }
        return new Set(ids);
      });
  },
  { planes: ['two'] },
);
