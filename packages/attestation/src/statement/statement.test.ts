import { sha256 } from '@noble/hashes/sha2.js';
import { expect, it } from 'vitest';
import { toHex } from '../bytes.ts';
import { keySetDigest } from './key-set.ts';
import { isNonce, isOrigin, reportDataOf, statementBytes, statementPurposes } from './statement.ts';

const statement = {
  keySetDigest: keySetDigest({ b: [], a: 1 }),
  nonce: '00'.repeat(32),
  origin: 'https://broker.example',
  purpose: statementPurposes.client.hardware,
};

it('is canonical JSON of key set, nonce, origin and purpose', () => {
  const digest = toHex(sha256(new TextEncoder().encode('{"a":1,"b":[]}')));
  expect(new TextDecoder().decode(statementBytes(statement))).toBe(
    `{"keyset_digest":"sha256:${digest}","nonce":"${'00'.repeat(32)}","origin":"https://broker.example","purpose":"sotto.gateway.report_data.v1"}`,
  );
});

it('is reported as its SHA-256, then zeros', () => {
  const bytes = statementBytes(statement);
  expect(toHex(reportDataOf(bytes))).toBe(toHex(sha256(bytes)) + '00'.repeat(32));
});

it('accepts one spelling of each nonce and each origin', () => {
  expect(isNonce('0123456789abcdef'.repeat(4))).toBe(true);
  for (const wrong of [
    '',
    'A'.repeat(64),
    'a'.repeat(63),
    'a'.repeat(65),
    `0x${'a'.repeat(62)}`,
    `${'a'.repeat(64)}\n`,
  ]) {
    expect(isNonce(wrong), wrong).toBe(false);
  }
  for (const right of ['https://a.example', 'https://a.example:8443', 'http://127.0.0.1:4001'])
    expect(isOrigin(right)).toBe(true);
  for (const wrong of [
    '',
    'a.example',
    'https://a.example/',
    'https://A.example',
    'https://a.example:443',
    'https://a.example/v1',
    'ftp://a.example',
    'wss://a.example',
  ]) {
    expect(isOrigin(wrong), wrong).toBe(false);
  }
});
