import { decodeBase64, nodeHash, toHex } from '@sotto/attestation';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import vectors from '../../../vectors/merkle.json' with { type: 'json' };
import { type Hash, isConsistent, isIncluded, Leaves, leafHash } from './merkle.ts';

/** Some roots of these vectors are no hashes. We refuse them, whatever the proof. */
const isHash = (base64: string): boolean => bytes(base64).length === 32;
const bytes = (base64: string): Hash => decodeBase64(base64) ?? new Uint8Array(0);
const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));

it('computes the roots of RFC 6962’s reference tree', () => {
  const entries = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
  const leaves = entries.map((entry) => leafHash(hex(entry)));
  // Those of Certificate Transparency's reference implementation.
  expect([0, 1, 2, 3, 8].map((size) => toHex(new Leaves(leaves.slice(0, size)).root))).toEqual([
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]);
});

it('verifies inclusion as transparency-dev does', () => {
  const agreed = vectors.inclusion.map(({ name, leafIdx, treeSize, root, leafHash: leaf, proof, wantErr }) => {
    const tree = { size: treeSize, root: bytes(root) };
    return { name, refused: !isIncluded(bytes(leaf), leafIdx, tree, proof.map(bytes)), wantErr };
  });
  expect(agreed.filter(({ refused, wantErr }) => refused !== wantErr)).toEqual([]);
  expect(agreed.filter(({ refused }) => refused).length).toBeGreaterThan(50);
  expect(agreed.filter(({ refused }) => !refused).length).toBeGreaterThan(4);
});

it('verifies consistency as transparency-dev does', () => {
  const agreed = vectors.consistency.map(({ name, size1, size2, root1, root2, proof, wantErr: wrong }) => {
    const wantErr = wrong || !isHash(root1) || !isHash(root2);
    const [older, newer] = [
      { size: size1, root: bytes(root1) },
      { size: size2, root: bytes(root2) },
    ];
    return { name, refused: !isConsistent(older, newer, proof.map(bytes)), wantErr };
  });
  expect(agreed.filter(({ refused, wantErr }) => refused !== wantErr)).toEqual([]);
  expect(agreed.filter(({ refused }) => refused).length).toBeGreaterThan(50);
});

it('proves every entry of every tree, and every earlier tree, and nothing else', () => {
  const leafOf = (index: number): Hash => leafHash(Uint8Array.of(index >> 8, index & 255));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), fc.nat(), (size, one, other) => {
      const hashes = Array.from({ length: size }, (_, index) => leafOf(index));
      const leaves = new Leaves(hashes);
      const tree = { size, root: leaves.root };
      const index = one % size;
      const path = leaves.inclusionProof(index);
      expect(isIncluded(leafOf(index), index, tree, path)).toBe(true);
      const wrong = other % size;
      expect(isIncluded(leafOf(index), wrong, tree, path)).toBe(wrong === index);
      const older = { size: (other % size) + 1, root: new Leaves(hashes.slice(0, (other % size) + 1)).root };
      const growth = leaves.consistencyProof(older.size);
      expect(isConsistent(older, tree, growth)).toBe(true);
      const changed = { ...older, root: nodeHash(older.root, older.root) };
      expect(isConsistent(changed, tree, growth)).toBe(false);
    }),
    { numRuns: 100 },
  );
});
