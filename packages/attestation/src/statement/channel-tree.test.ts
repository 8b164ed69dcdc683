import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Bytes, concatBytes, toHex } from '../bytes.ts';
import { channelLeaf, channelRoot, channelTree, mostLeaves } from './channel-tree.ts';

const hashOf = (...parts: readonly Uint8Array[]): Bytes =>
  Uint8Array.from(
    createHash('sha256')
      .update(concatBytes(...parts))
      .digest(),
  );
const nonceOf = (at: number): string => at.toString(16).padStart(64, '0');
const exporterOf = (at: number): Bytes => new Uint8Array(32).fill(at % 251);
const leaves = (count: number): Bytes[] =>
  Array.from({ length: count }, (_, at) => channelLeaf(nonceOf(at), exporterOf(at)));

/** RFC 6962, section 2.1, word for word: split at the largest power of two below the number of leaves. */
function rootOf(all: readonly Bytes[]): Bytes {
  const [first = new Uint8Array()] = all;
  if (all.length === 1) return first;
  let split = 1;
  while (2 * split < all.length) split *= 2;
  return hashOf(Uint8Array.of(1), rootOf(all.slice(0, split)), rootOf(all.slice(split)));
}

describe('a tree of connections', () => {
  it('has leaves of the zero byte, the nonce and the exported value', () => {
    const nonce = 'ab'.repeat(32);
    const expected = hashOf(Uint8Array.of(0), new Uint8Array(32).fill(0xab), exporterOf(7));
    expect(channelLeaf(nonce, exporterOf(7))).toEqual(expected);
    expect(() => channelLeaf(nonce, new Uint8Array(33))).toThrow('33 bytes, not 32');
    expect(() => channelLeaf('ab', exporterOf(7))).toThrow('the nonce');
  });

  it('has the root of RFC 6962, and each leaf has a proof of it, for every size up to 33 and the largest', () => {
    for (const size of [...Array.from({ length: 33 }, (_, at) => at + 1), mostLeaves]) {
      const all = leaves(size);
      const { root, proofOf } = channelTree(all);
      expect(root, `${size} leaves`).toBe(toHex(rootOf(all)));
      expect(all.map((leaf, at) => channelRoot(leaf, proofOf(at)))).toEqual(all.map(() => root));
    }
    for (const size of [0, mostLeaves + 1]) expect(() => channelTree(leaves(size))).toThrow(`got ${size}`);
  });

  it('has no proof for another leaf, another place or another tree', () => {
    const all = leaves(11);
    const { root, proofOf } = channelTree(all);
    const [leaf = new Uint8Array(), other = new Uint8Array()] = [all[4], all[5]];
    const proof = proofOf(4);
    const rootBy = (changed: object, of = leaf): string => {
      try {
        return channelRoot(of, { ...proof, ...changed });
      } catch (error) {
        return String(error);
      }
    };
    expect(rootBy({})).toBe(root);
    for (const leaf_index of [11, 40]) expect(rootBy({ leaf_index })).toContain('does not fit');
    const [first = ''] = proof.path;
    for (const refused of [
      rootBy({}, other),
      rootBy({ leaf_index: 5 }),
      rootBy({ tree_size: 3 }),
      rootBy({ tree_size: 200 }),
      rootBy({ path: proof.path.slice(1) }),
      rootBy({ path: [...proof.path, first] }),
      rootBy({ path: [] }),
      rootBy({ path: proof.path.toReversed() }),
      channelRoot(leaf, channelTree(leaves(12)).proofOf(4)),
    ]) {
      expect(refused).not.toBe(root);
    }
  });

  it('takes no inner node for a leaf: who knows a node cannot choose nonce and exported value that hash to it', () => {
    const [one = new Uint8Array(), two = new Uint8Array()] = leaves(2);
    // The two halves of the node, read as a nonce and an exported value.
    const confused = channelLeaf(toHex(one), two);
    const { root } = channelTree([one, two]);
    expect(toHex(hashOf(Uint8Array.of(1), one, two))).toBe(root);
    expect(toHex(confused)).not.toBe(root);
  });
});
