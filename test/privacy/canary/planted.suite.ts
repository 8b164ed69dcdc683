import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { openTestPool, withRedis } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { disguises, encodings, found, hashes, searchable } from './disguises.ts';
import { fullBody, identities } from './markers.ts';
import { answersWell } from './provider-answers.ts';
import type { StageOf } from './stage.ts';

interface Plant {
  readonly text: string;
  /** The plants that a sink does not show. Empty if all were found. */
  readonly missing: (sink: string) => string[];
}

/** Creates a text for every encoding, each with its own marker, so that the search must find each one separately. */
function plant(): Plant {
  const ways: [string, string, string][] = Object.entries(encodings).flatMap(([name, encode]) =>
    encode('x').map((_, index): [string, string, string] => {
      const marker = `planted${randomBytes(12).toString('hex')}`;
      return [`${name}, ${index}`, marker, encode(marker)[index] ?? ''];
    }),
  );
  for (const form of ['base64', 'hex'] as const) {
    const marker = `planted${randomBytes(12).toString('hex')}`;
    ways.push([`compressed, in ${form}`, marker, gzipSync(`so ${marker} it is`).toString(form)]);
  }
  // Postgres texts and lines of JSON cannot hold a NUL.
  const writable = ways.filter(([, , form]) => !form.includes('\0'));
  return {
    text: writable.map(([, , form]) => form).join(' | '),
    missing: (sink) => {
      const all = searchable(sink);
      return writable.flatMap(([name, marker]) => (found(all, { it: disguises(marker) }).length === 0 ? [name] : []));
    },
  };
}

/** Tests the search itself: it finds every planted text in a sink, in every encoding. */
export function plantedSuite(stage: StageOf): void {
  describe('a leak is found in', () => {
    it.each(['control', 'broker'] as const)('the log of the process of %s', async (from) => {
      const { text, missing } = plant();
      await stage().leak(from, text);
      const { controlLog, brokerLog } = await stage().sinks();
      const [own, other] = from === 'control' ? [controlLog, brokerLog] : [brokerLog, controlLog];
      expect(missing(own)).toEqual([]);
      // One plant is not mistaken for the other.
      expect(missing(other).length).toBeGreaterThan(10);
    });

    it('a row of Postgres', async () => {
      const { text, missing } = plant();
      const { pool } = stage().service;
      const id = randomBytes(16)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      await pool.query(
        "insert into rejected_settlements (id, shard, stream_id, reason, payload, mac) values ($1, 0, '', 'bad_mac', $2, '')",
        [id, text],
      );
      expect(missing((await stage().sinks()).postgres)).toEqual([]);
      await pool.query('delete from rejected_settlements where id = $1', [id]);
      expect(missing((await stage().sinks()).postgres).length).toBeGreaterThan(10);
    });

    it('every kind of value in Redis, deleted ones included, and its append-only file', async () => {
      const { url } = stage().redis;
      const kinds = ['string', 'hash', 'list', 'set', 'zset', 'stream'] as const;
      const plants = kinds.map((kind) => ({ kind, ...plant() }));
      const text = (kind: (typeof kinds)[number]): string => plants.find((each) => each.kind === kind)?.text ?? '';
      await withRedis(url, async (connection) => {
        await connection.set('planted:string', text('string'));
        await connection.hset('planted:hash', { [text('hash')]: 'x' });
        await connection.rpush('planted:list', text('list'));
        await connection.sadd('planted:set', text('set'));
        await connection.zadd('planted:zset', 1, text('zset'));
        await connection.xadd('planted:stream', '*', 'p', text('stream'));
      });
      // Searches each kind of value separately among the current ones.
      const before = await stage().stored();
      for (const { kind, missing } of plants) {
        const from = before.indexOf(`planted:${kind}\n`);
        expect(from, kind).not.toBe(-1);
        expect(missing(before.slice(from, from + 20_000)), kind).toEqual([]);
      }
      await withRedis(url, (connection) => connection.del(kinds.map((kind) => `planted:${kind}`)));
      const { redis } = await stage().sinks();
      const { 'the append-only file': file = '' } = await stage().allSinks();
      for (const { kind, missing } of plants) {
        expect(missing(redis), kind).toEqual([]);
        if (stage().redis.pid !== undefined) expect(missing(file), kind).toEqual([]);
      }
    });

    it('Redis, for the person who signs in, their address, or a plain hash of either', async () => {
      const email = `${randomBytes(9).toString('hex')}@planted.test`;
      const planted = identities(email, { ipv4: '203.0.113.199', ipv6: '2001:db8:b1a:27ed:1:2:3:4' });
      const each = Object.keys(planted).flatMap((text) => [text, ...hashes(text)]);
      await withRedis(stage().redis.url, async (connection) => {
        for (const form of each) await connection.set(`planted:${form}`, '1');
      });
      const stored = await stage().stored();
      // The search knows each planted form.
      const known = new Set(Object.values(planted).flat());
      for (const form of each) expect([known.has(form), stored.includes(form)], form).toEqual([true, true]);
      expect(found(stored, planted)).toHaveLength(Object.keys(planted).length);
      await withRedis(stage().redis.url, (connection) => connection.del(each.map((form) => `planted:${form}`)));
      expect(found((await stage().sinks()).redis, planted)).toHaveLength(Object.keys(planted).length);
    });

    it('every connection between the processes and the services that they use', async () => {
      const { wires } = stage();
      const plants = new Map(Object.keys(wires).map((name) => [name, plant()]));
      const text = (name: string): string => plants.get(name)?.text ?? '';
      for (const name of ['broker to Redis', 'control to Redis'] as const) {
        await withRedis(wires[name].url, (connection) => connection.ping(text(name)));
      }
      const pool = openTestPool(wires['control to Postgres'].url);
      await pool.query('select length($1::text)', [text('control to Postgres')]);
      await pool.end();
      const broker = wires['control to the broker'].url;
      const body = `"${text('control to the broker')}"`;
      await fetch(`${broker}/v1/tee/attestation`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      const all = await stage().allSinks();
      for (const [name, { missing }] of plants) expect(missing(all[name] ?? ''), name).toEqual([]);
    });

    it('the body and the headers of an error, and the metrics are read', async () => {
      const refused = await stage().keep(post(`${stage().service.controlUrl}/inference/tickets`, {}, {}));
      const requestId = String(refused.headers.get('x-request-id'));
      await until(() => stage().service.logs().includes(requestId), 'the log is written');
      const { metrics } = await stage().allSinks();
      // The metrics of both planes are present.
      expect(metrics).toContain('# HELP sotto_first_byte_seconds');
      expect(metrics).toContain('# HELP sotto_settlements_total');
      const { errors, controlLog } = await stage().sinks();
      expect(found(errors, { it: [requestId] })).toHaveLength(1);
      expect(found(controlLog, { it: [requestId] })).toHaveLength(1);
      // The processes' own output is included.
      stage().onAll(answersWell);
      const served = await stage().ask('compatibility', fullBody());
      expect(served.status, served.text).toBe(200);
      const id = String(served.headers.get('x-request-id'));
      await until(() => stage().service.logs().includes(id), 'the log is written');
      const { redis } = await stage().sinks();
      expect(found(redis, { settlements: ['"kind":"charge"'], scripts: ['XADD', 'xadd'] })).toHaveLength(2);
    });
  });
}
