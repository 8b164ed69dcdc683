import { describe, expect, it } from 'vitest';
import { channelLeaf, channelTree } from '../statement/channel-tree.ts';
import { keySetDigest } from '../statement/key-set.ts';
import { channelPurposes, channelStatementBytes } from '../statement/statement.ts';
import {
  type Connection,
  challenge,
  channelDocuments,
  hardware,
  keySet,
  nonce,
  origin,
  pins,
  simulatedDocument,
  tdxDocument,
} from '../testing/gateway-documents.ts';
import { failed, reasonOf } from '../testing/outcomes.ts';
import { type GatewayChallenge, verifyGatewayUnder } from './verify-gateway.ts';

const exporter = new Uint8Array(32).fill(9);
const ours: Connection = { nonce, exporter };
const others = (count: number): Connection[] =>
  Array.from({ length: count }, (_, at) => ({
    nonce: at.toString(16).padStart(64, '0'),
    exporter: new Uint8Array(32).fill(at),
  }));
const offers = { ...keySet, channel_bindings: ['tls-exporter'] };
const demands = { ...pins, channel: true };

const verify = (document: unknown, changes: Partial<GatewayChallenge> = {}) =>
  verifyGatewayUnder(hardware, document, { ...challenge, channel: { exporter }, ...changes });
const outcome = async (document: unknown, changes: Partial<GatewayChallenge> = {}) => {
  const { verdict, binding, checks } = await verify(document, changes);
  return { verdict, binding, failed: failed(checks), why: reasonOf(checks, 'gateway.channel') };
};

describe('evidence for a connection', () => {
  it('is bound to it, alone or among others that waited for the same quote', async () => {
    for (const waiting of [[ours], [...others(6), ours], [ours, ...others(4)]]) {
      const documents = await channelDocuments(waiting, offers);
      const result = await verify(documents[waiting.indexOf(ours)], { pins: demands });
      expect(failed(result.checks)).toEqual([]);
      expect(result).toMatchObject({ verdict: 'hardware_verified', binding: 'channel', keySet: offers });
    }
  });

  const refused = { verdict: 'untrusted', binding: 'none', failed: ['gateway.report_data', 'gateway.channel'] };

  it('is refused on any other connection, for any other nonce, and with any other proof', async () => {
    const [document, theirs] = await channelDocuments([ours, ...others(2)], offers);
    const [elsewhere] = await channelDocuments([ours, ...others(3)], offers);
    const relayed = { channel: { exporter: new Uint8Array(32).fill(8) } };
    expect(await outcome(document, relayed)).toMatchObject({ ...refused, why: expect.stringContaining('relayed') });
    expect(await outcome(document, { nonce: 'f'.repeat(64) })).toMatchObject(refused);
    expect(await outcome(theirs)).toMatchObject(refused);
    expect(await outcome({ ...document, channel: elsewhere?.channel })).toMatchObject(refused);
    expect(await outcome({ ...document, channel: { ...document?.channel, leaf_index: 1 } })).toMatchObject(refused);
    const short = { leaf_index: 0, tree_size: 3, path: [] };
    expect(await outcome({ ...document, channel: short })).toMatchObject({
      ...refused,
      why: expect.stringContaining('does not fit'),
    });
    expect(await outcome(document, { origin: 'https://broker.example' })).toMatchObject({ verdict: 'untrusted' });
  });

  it('is refused with the key set of another statement', async () => {
    const [document] = await channelDocuments([ours], offers);
    expect(await outcome({ ...document, key_set: { ...offers, more: 1 } })).toMatchObject(refused);
  });

  it('is not taken for evidence for a nonce, and evidence for a nonce not for that of a connection', async () => {
    const [document] = await channelDocuments([ours], keySet);
    const { channel, ...without } = document ?? {};
    expect(await outcome(without)).toMatchObject({ verdict: 'untrusted', binding: 'none' });
    expect(await outcome({ ...(await tdxDocument()), channel })).toMatchObject(refused);
  });

  it('is refused where nothing was exported: in browsers, and with TLS older than 1.3', async () => {
    const [document] = await channelDocuments([ours], offers);
    expect(await outcome(document, { channel: undefined })).toMatchObject({
      ...refused,
      why: expect.stringContaining('here'),
    });
    const old = await outcome(document, { channel: { exporter: undefined } });
    expect(old).toMatchObject({ ...refused, why: expect.stringContaining('older than 1.3') });
  });

  it('is refused if it is malformed, without an error', async () => {
    const [document] = await channelDocuments([ours], offers);
    const path = ['z'.repeat(64)];
    for (const channel of [
      null,
      {},
      { leaf_index: -1, tree_size: 1, path: [] },
      { leaf_index: 0, tree_size: 2, path },
    ]) {
      expect(await outcome({ ...document, channel })).toMatchObject({
        verdict: 'untrusted',
        failed: ['gateway.format'],
      });
    }
    expect(await outcome(document, { channel: { exporter: new Uint8Array(31) } })).toMatchObject(refused);
    expect(await outcome(document, { channel: { exporter: 'text' as never } })).toMatchObject(refused);
  });
});

describe('evidence for a nonce alone', () => {
  const accepted = { verdict: 'hardware_verified', binding: 'key', failed: [] };
  const refused = { verdict: 'untrusted', binding: 'key', failed: ['gateway.channel'] };

  it('is accepted from a gateway that has no more, unless the pins demand it', async () => {
    const document = await tdxDocument();
    expect(await outcome(document)).toMatchObject({ ...accepted, why: expect.stringContaining('does not bind') });
    expect(await outcome(document, { pins: demands })).toMatchObject(refused);
  });

  it('is refused from a gateway whose signed key set offers more: a relay asked for the weaker kind', async () => {
    const document = await tdxDocument({ keys: offers });
    expect(await outcome(document)).toMatchObject({ ...refused, why: expect.stringContaining('bound to none') });
    const old = await outcome(document, { channel: { exporter: undefined } });
    expect(old).toMatchObject({ ...refused, why: expect.stringContaining('older than 1.3') });
  });

  it('is accepted where the connection exports nothing, unless the pins demand it', async () => {
    const document = await tdxDocument({ keys: offers });
    const blind = { channel: undefined, tlsSpki: undefined };
    expect(await outcome(document, blind)).toMatchObject({
      verdict: 'cryptographically_checked',
      binding: 'none',
      failed: [],
    });
    expect(await outcome(document, { ...blind, pins: demands })).toMatchObject({ ...refused, binding: 'none' });
  });

  it('is accepted with pins that switch the check off', async () => {
    const document = await tdxDocument({ keys: offers });
    const off = await outcome(document, { pins: { ...pins, channel: false } });
    expect(off).toMatchObject({ ...accepted, why: 'our pins do not ask for it' });
  });
});

it('simulated evidence is bound to a connection in the same way, by a purpose of its own', async () => {
  const tree = channelTree([channelLeaf(nonce, exporter)]);
  const statementFor = (purpose: (typeof channelPurposes)[keyof typeof channelPurposes]) =>
    channelStatementBytes({ keySetDigest: keySetDigest(keySet), origin, root: tree.root, purpose });
  const signed = async (purpose: (typeof channelPurposes)[keyof typeof channelPurposes]) => {
    const { document } = await simulatedDocument({ signs: statementFor(purpose) });
    return { ...document, channel: tree.proofOf(0) };
  };
  const document = await signed(channelPurposes.simulated);
  expect(await outcome(document)).toMatchObject({ binding: 'channel', failed: ['simulated.hardware'] });
  expect(await outcome(document, { channel: { exporter: new Uint8Array(32) } })).toMatchObject({
    binding: 'none',
    failed: ['gateway.channel', 'simulated.signature', 'simulated.hardware'],
  });
  const short = { ...document, channel: { leaf_index: 0, tree_size: 2, path: [] } };
  expect((await outcome(short)).failed).toContain('gateway.channel');
  expect((await outcome(await signed(channelPurposes.hardware))).binding).toBe('none');
});
