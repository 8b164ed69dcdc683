import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes } from './bytes.ts';

// The Merkle tree of RFC 6962, section 2.1. The first byte of what is hashed tells leaves and inner nodes apart.

/** The hash of an entry: 32 bytes. */
export const leafHash = (entry: Uint8Array): Bytes => Uint8Array.from(sha256(concatBytes(Uint8Array.of(0), entry)));

/** The hash of two subtrees: 32 bytes. */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Bytes =>
  Uint8Array.from(sha256(concatBytes(Uint8Array.of(1), left, right)));

/** The largest power of two that is less than `size`, which is at least 2. */
export const splitOf = (size: number): number => 2 ** Math.ceil(Math.log2(size) - 1);

/** A tree over leaf hashes. It computes each subtree once. */
export class MerkleTree {
  readonly #leaves: readonly Uint8Array[];
  readonly #roots = new Map<string, Uint8Array>();

  constructor(leaves: readonly Uint8Array[]) {
    this.#leaves = leaves;
  }

  get size(): number {
    return this.#leaves.length;
  }

  get root(): Uint8Array {
    return this.rootOf(0, this.size);
  }

  /** The root over the leaves from `from` to before `to`. */
  rootOf(from: number, to: number): Uint8Array {
    const [only] = to - from === 1 ? this.#leaves.slice(from, to) : [];
    if (only !== undefined) return only;
    if (from === to) return sha256(new Uint8Array(0));
    const key = `${from}-${to}`;
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    const middle = from + splitOf(to - from);
    const root = nodeHash(this.rootOf(from, middle), this.rootOf(middle, to));
    this.#roots.set(key, root);
    return root;
  }

  /** The proof that the leaf at `index` is in the tree: the hashes beside the way from the leaf to the root. */
  inclusionProof(index: number): Uint8Array[] {
    const proof: Uint8Array[] = [];
    let [from, to] = [0, this.size];
    while (to - from > 1) {
      const middle = from + splitOf(to - from);
      const isLeft = index < middle;
      proof.unshift(isLeft ? this.rootOf(middle, to) : this.rootOf(from, middle));
      [from, to] = isLeft ? [from, middle] : [middle, to];
    }
    return proof;
  }
}

interface LeafPlace {
  readonly index: number;
  /** The leaves of the tree. */
  readonly size: number;
}

/** The root of the tree in which a leaf has this place and proof. Undefined if no tree has them (RFC 9162, section 2.1.3.2). */
export function followProof(
  leaf: Uint8Array,
  { index, size }: LeafPlace,
  proof: readonly Uint8Array[],
): Uint8Array | undefined {
  if (index >= size) return undefined;
  const rest = [...proof];
  let root = leaf;
  let [node, nodes] = [index, size];
  while (nodes > 1) {
    const isRight = node % 2 === 1;
    if (isRight || node + 1 < nodes) {
      const beside = rest.shift();
      if (beside === undefined) return undefined;
      root = isRight ? nodeHash(beside, root) : nodeHash(root, beside);
    }
    // Sizes of logs may be beyond 32 bits.
    [node, nodes] = [Math.floor(node / 2), Math.ceil(nodes / 2)];
  }
  return rest.length === 0 ? root : undefined;
}
