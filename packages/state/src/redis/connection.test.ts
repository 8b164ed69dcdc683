import { expect, test } from 'vitest';
import { leaveReplica, readRedisUrl } from './connection.ts';

test('reads host, port, database, credentials and TLS', () => {
  expect(readRedisUrl('redis://localhost')).toEqual({
    nodes: [{ host: 'localhost', port: 6379 }],
    cluster: false,
    auth: {},
  });
  expect(readRedisUrl('rediss://user:p%40ss@[::1]:7000/3')).toEqual({
    nodes: [{ host: '::1', port: 7000 }],
    cluster: false,
    auth: { username: 'user', password: 'p@ss', db: 3, tls: {} },
  });
});

test('several hosts, or ?cluster=1, are a cluster', () => {
  const nodes = [
    { host: 'a', port: 6379 },
    { host: 'b', port: 7000 },
    { host: 'c', port: 6379 },
  ];
  expect(readRedisUrl('redis://:secret@a,b:7000,redis://c')).toEqual({
    nodes,
    cluster: true,
    auth: { password: 'secret' },
  });
  expect(readRedisUrl('redis://a?cluster=1')).toMatchObject({ nodes: [nodes[0]], cluster: true });
  expect(readRedisUrl('redis://a,b:7000,c?cluster=1')).toMatchObject({ nodes, cluster: true });
  expect(readRedisUrl('redis://a,b:7000,c/0?cluster=1')).toMatchObject({ nodes, cluster: true });
  const all = 'rediss://user:secret@a/0';
  expect(readRedisUrl(`${all},${all}`)).toMatchObject({ cluster: true, auth: { username: 'user', tls: {} } });
});

test.each(['redis://a?cluster=0', 'redis://a?cluster', 'redis://a,b?cluster=0'])(
  'refuses %s, because `cluster` is 1 or absent',
  (url) => expect(refusalOf(url)).toMatchObject({ message: expect.stringContaining('`cluster`') }),
);

test.each([
  'redis://a,rediss://b',
  'rediss://a,redis://b',
  'redis://a,http://b',
  'redis://:secret@a,other@b',
  'redis://:secret@a,:other@b',
  'redis://a,:secret@b',
  'redis://a/1,b/2',
  'redis://a,b/2',
])('refuses %s, because the first host is alone in saying how to connect to all', (url) => {
  expect(refusalOf(url)).toMatchObject({ message: expect.stringMatching(/those of the first are for all hosts/) });
});

test.each([
  'secret',
  'http://:secret@host',
  'redis://:secret@host:port',
  'redis://:secret@host/name',
  'redis://:secret@host/-1',
  'redis://:secret@a,b:secret',
  'redis://:secret@a,',
  'redis://:secret%zz@host',
  'redis://:secret@',
])('refuses %s and quotes nothing of it', (url) => {
  const refusal = refusalOf(url);
  expect(refusal).toBeInstanceOf(TypeError);
  expect(JSON.stringify({ ...Object(refusal), message: Object(refusal).message })).not.toContain('secret');
});

function refusalOf(url: string): unknown {
  try {
    return readRedisUrl(url);
  } catch (error) {
    return error;
  }
}

test('leaves a server that has become a replica, once a second, and no other', () => {
  let now = 0;
  const leaves = leaveReplica(() => now);
  const readOnly = new Error("READONLY You can't write against a read only replica.");
  expect(leaves(new Error('OOM command not allowed'))).toBe(false);
  expect(leaves(readOnly)).toBe(true);
  now = 999;
  expect(leaves(readOnly)).toBe(false);
  now = 1000;
  expect(leaves(readOnly)).toBe(true);
});
