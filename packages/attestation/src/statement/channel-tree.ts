import * as z from 'zod';
import { type Bytes, concatBytes, fromHex, toHex } from '../bytes.ts';
import { followProof, leafHash, MerkleTree } from '../merkle.ts';
import { Refusal } from '../refusal.ts';

// One quote binds many connections: the report data covers the root of a Merkle tree, and each connection is a leaf. A
// leaf and an inner node both hash 65 bytes, and the first byte tells them apart.

/** RFC 9266: what both ends of a TLS 1.3 connection export as the value that only this connection has. */
export const tlsExporter = { label: 'EXPORTER-Channel-Binding', bytes: 32 } as const;

/** The member of a key set that lists how its broker binds evidence to connections, and the only entry so far. */
export const channelBinding = 'tls-exporter';

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
  return leafHash(concatBytes(fromHex(nonce, 'the nonce', 32), exporter));
}

/** The root of the tree over these leaves in hex, and the proof of each leaf. Takes 1 to `mostLeaves` leaves. */
export function channelTree(leaves: readonly Bytes[]): { readonly root: string; proofOf(index: number): ChannelProof } {
  if (leaves.length < 1 || leaves.length > mostLeaves) {
    throw new RangeError(`a tree has 1 to ${mostLeaves} leaves; got ${leaves.length}`);
  }
  const tree = new MerkleTree(leaves);
  return {
    root: toHex(tree.root),
    proofOf: (index) => ({
      leaf_index: index,
      tree_size: tree.size,
      path: tree.inclusionProof(index).map(toHex),
    }),
  };
}

/**
 * The root in hex of the tree in which a leaf has this proof. Refuses a path whose length does not fit the place of the
 * leaf.
 */
export function channelRoot(leaf: Bytes, { leaf_index, tree_size, path }: ChannelProof): string {
  const hashes = path.map((hash) => fromHex(hash, 'a hash of the path', 32));
  const root = followProof(leaf, { index: leaf_index, size: tree_size }, hashes);
  if (root === undefined) throw new Refusal('the path of our connection does not fit its place in the tree');
  return toHex(root);
}
