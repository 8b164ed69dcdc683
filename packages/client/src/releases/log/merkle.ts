import { followProof, MerkleTree, nodeHash, splitOf } from '@sotto/attestation';

export { leafHash } from '@sotto/attestation';

/** A SHA-256 hash: 32 bytes. */
export type Hash = Uint8Array;

/** The leaf hashes of a log, which also prove that it grew from an earlier one. */
export class Leaves extends MerkleTree {
  /** The proof that the tree begins with the tree of its first `size` leaves. */
  consistencyProof(size: number): Hash[] {
    const proof: Hash[] = [];
    let [from, to] = [0, this.size];
    while (size > 0 && to > size) {
      const middle = from + splitOf(to - from);
      const isLeft = size <= middle;
      proof.unshift(isLeft ? this.rootOf(middle, to) : this.rootOf(from, middle));
      [from, to] = isLeft ? [from, middle] : [middle, to];
    }
    // A subtree that begins at the first leaf is the older tree, whose root its verifier has.
    return from === 0 ? proof : [this.rootOf(from, to), ...proof];
  }
}

export interface Tree {
  readonly size: number;
  readonly root: Hash;
}

/** Whether `proof` shows that the leaf at `index` is in the tree (RFC 9162, section 2.1.3.2). */
export function isIncluded(leaf: Hash, index: number, tree: Tree, proof: readonly Hash[]): boolean {
  if (!areSizes(index, tree.size) || !areHashes(leaf, tree.root, ...proof)) return false;
  const root = followProof(leaf, { index, size: tree.size }, proof);
  return root !== undefined && isSame(root, tree.root);
}

/** Whether `proof` shows that the newer tree begins with the older one, which has entries (RFC 9162, section 2.1.4.2). */
export function isConsistent(older: Tree, newer: Tree, proof: readonly Hash[]): boolean {
  if (!areSizes(older.size, newer.size) || !areHashes(older.root, newer.root, ...proof)) return false;
  if (older.size === 0 || older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && isSame(older.root, newer.root);
  const isPower = Number.isInteger(Math.log2(older.size));
  const [first, ...rest] = isPower ? [older.root, ...proof] : proof;
  if (first === undefined) return false;
  let [node, last] = [older.size - 1, newer.size - 1];
  while (isOdd(node)) [node, last] = [halved(node), halved(last)];
  let [old, grown] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      [old, grown] = [nodeHash(hash, old), nodeHash(hash, grown)];
      while (!isOdd(node) && node !== 0) [node, last] = [halved(node), halved(last)];
    } else {
      grown = nodeHash(grown, hash);
    }
    [node, last] = [halved(node), halved(last)];
  }
  return last === 0 && isSame(old, older.root) && isSame(grown, newer.root);
}

const isOdd = (number: number): boolean => number % 2 === 1;
const halved = (number: number): number => Math.floor(number / 2);
const areSizes = (...numbers: readonly number[]): boolean =>
  numbers.every((number) => Number.isSafeInteger(number) && number >= 0);

const areHashes = (...hashes: readonly Hash[]): boolean => hashes.every(({ length }) => length === 32);

export const isSame = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index]);
