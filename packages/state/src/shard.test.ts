import { expect, it } from 'vitest';
import { shardPrefix, shards } from './shard.ts';

/** What decides the slot of a key in Redis Cluster: the text in the first braces, or else the whole key. */
const slotText = (key: string): string => /\{([^}]+)\}/.exec(key)?.[1] ?? key;

it('all keys of a shard are in one slot of Redis Cluster, and no two shards need the same one', () => {
  const slots = shards.map((shard) => {
    const own = new Set(['stream', 'wallet:a', 'wallet:{b}'].map((name) => slotText(shardPrefix(shard) + name)));
    expect(own.size).toBe(1);
    return [...own][0];
  });
  expect(new Set(slots).size).toBe(shards.length);
});
