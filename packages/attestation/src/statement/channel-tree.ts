import { sha256 } from '@noble/hashes/sha2.js';
import * as z from 'zod';
import { type Bytes, concatBytes, decodeHex, fromHex, toHex } from '../bytes.ts';
import { Refusal } from '../refusal.ts';

// One quote binds many connections: the report data covers the root of a Merkle tree, and each connection is a leaf. The
// tree is that of RFC 6962, section 2.1. A leaf and an inner node both hash 65 bytes, and the first byte tells them apart.

/** RFC 9266: what both ends of a TLS 1.3 connection export as the value that only this connection has. */
export const tlsExporter = { label: 'EXPORTER-Channel-Binding', bytes: 32 } as const;

/** The member of a key set that lists how its broker binds evidence to connections, and the only entry so far. */
export const channelBinding = 'tls-exporter';

const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);

/** Most connections that one quote binds. */
export const mostLeaves = 1024;
const longestPath = Math.log2(mostLeaves);

/** The place of one connection in the tree that a quote covers. */
export const channelProofSchema = z
  .object({
    leaf_index: z.int().min(0),
    tree_size: z.int().min(1).max(mostLeaves),
    /** The hashes beside the way from the leaf to the root, lowest first: 64 lower-case hex digits each. */
    path: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(longestPath),
  })
  .meta({ title: 'ChannelProof' });
export type ChannelProof = z.infer<typeof channelProofSchema>;

/**
 * The leaf of one connection.
 *
 * @param nonce - the client's nonce: 64 lower-case hex digits.
 * @param exporter - the connection's exported value: 32 bytes.
 */
export function channelLeaf(nonce: string, exporter: Uint8Array): Bytes {
  if (exporter.length !== tlsExporter.bytes) {
    throw new Refusal(`the exported value has ${exporter.length} bytes, not ${tlsExporter.bytes}`);
  }
  return Uint8Array.from(sha256(concatBytes(leafPrefix, fromHex(nonce, 'the nonce', 32), exporter)));
}

/** The root of the tree over these leaves in hex, and the proof of each leaf. Takes 1 to `mostLeaves` leaves. */
export function channelTree(leaves: readonly Bytes[]): { readonly root: string; proofOf(index: number): ChannelProof } {
  if (leaves.length < 1 || leaves.length > mostLeaves) {
    throw new RangeError(`a tree has 1 to ${mostLeaves} leaves; got ${leaves.length}`);
  }
  const levels: (readonly Bytes[])[] = [leaves];
  for (let level = leaves; level.length > 1; levels.push(level)) level = levelAbove(level);
  return {
    root: toHex(levels.at(-1)?.[0] ?? new Uint8Array()),
    proofOf: (index) => ({
      leaf_index: index,
      tree_size: leaves.length,
      path: levels.flatMap((level, height) => toHexes(level[(index >> height) ^ 1])),
    }),
  };
}

const toHexes = (hash: Bytes | undefined): string[] => (hash === undefined ? [] : [toHex(hash)]);

/** Hashes neighbours together. A last one without a neighbour moves up as it is. */
function levelAbove(level: readonly Bytes[]): Bytes[] {
  const above: Bytes[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = level.slice(at, at + 2);
    if (left !== undefined) above.push(right === undefined ? left : node(left, right));
  }
  return above;
}

const node = (left: Uint8Array, right: Uint8Array): Bytes =>
  Uint8Array.from(sha256(concatBytes(nodePrefix, left, right)));

/**
 * The root in hex of the tree in which a leaf has this proof. Refuses a path whose length does not fit the place of the
 * leaf.
 */
export function channelRoot(leaf: Bytes, { leaf_index, tree_size, path }: ChannelProof): string {
  if (leaf_index >= tree_size) throw new Refusal('the place of our connection is outside the tree');
  const rest = path.map((hash) => decodeHex(hash) ?? new Uint8Array());
  const next = (): Bytes => {
    const hash = rest.shift();
    if (hash === undefined) throw new Refusal('the path of our connection is too short');
    return hash;
  };
  let root = leaf;
  for (let [index, size] = [leaf_index, tree_size]; size > 1; [index, size] = [index >> 1, (size + 1) >> 1]) {
    if (index % 2 === 1) root = node(next(), root);
    else if (index + 1 < size) root = node(root, next());
  }
  if (rest.length > 0) throw new Refusal('the path of our connection is too long');
  return toHex(root);
}
