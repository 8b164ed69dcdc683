import {
  type E2eeProtocol,
  type E2eeProtocolName,
  type E2eeProtocolNotes,
  e2eeProtocolNotes,
  e2eeProtocols,
  relayAttacks,
  relayAttacksOn,
} from '@sotto/wire';
import { code, generated, table } from './markdown.ts';

const intro = `# Encryption protocols

Find out what a malicious broker can do to end-to-end encrypted chat, by the protocol of the provider's enclave.

The broker relays encrypted requests. Its hardware evidence shows which software it runs, and end-to-end encryption protects content even from a broker that lies. How far depends on the provider's protocol, which no client can change.`;

const attacksIntro = `## What a malicious broker can do

The client refuses a provider whose protocol lets any broker read content, unless you [accept that](../use/end-to-end-encryption.md#accept-a-provider-that-a-broker-could-read). With every protocol, a broker can refuse or delay requests.`;

const resistsIntro = `## What each protocol resists

- **Reply key bound**: the request's ciphertext fixes the key that the reply is encrypted to. Without this, a broker puts its own key into the header, and appends a message that asks for the conversation.
- **Program bound**: the evidence says which program on the machine holds the key. Without this, a broker that runs a program of its own on such machines shows that program's key.
- **Context bound**: a ciphertext opens only in its own request and place.
- **Replay refused**: the enclave refuses a ciphertext that it has seen, whatever reply key comes with it.
- **Chunk order bound**: the client notices chunks of a reply that were dropped or swapped.`;

const openIntro = `## What stays open to a broker

A broker can read and change the fields in clear. What accompanies a body that is encrypted whole is for the broker alone, so a change of it does not reach the enclave. A broker can also send a ciphertext to the other endpoints of the same key. If it asks for the fields in the last column, the enclave writes the reply's text there in clear. The client refuses such a reply, but the broker has read it.

Some enclaves sign [receipts](../use/end-to-end-encryption.md#receipts-of-enclaves) that the client verifies. A receipt shows that a broker wrote or changed the reply. It never shows that a broker read the prompt.`;

const word = (is: boolean): string => (is ? 'yes' : 'no');
const list = (items: readonly string[]): string => (items.length === 0 ? '–' : items.join(', '));
const protocols: readonly (E2eeProtocol & E2eeProtocolNotes)[] = (
  Object.entries(e2eeProtocols) as [E2eeProtocolName, E2eeProtocol][]
).map(([name, protocol]) => ({ ...protocol, ...e2eeProtocolNotes[name] }));

/** Builds the page of the protocols by which enclaves take encrypted chat. */
export const encryptionProtocolsPage = (): string =>
  [
    generated,
    intro,
    attacksIntro,
    table(
      ['Protocol', 'Family', 'A malicious broker can'],
      protocols.map((protocol) => [
        protocol.name,
        code(protocol.family),
        relayAttacksOn(protocol)
          .map((attack) => relayAttacks[attack])
          .join('; '),
      ]),
    ),
    resistsIntro,
    table(
      ['Protocol', 'Reply key bound', 'Program bound', 'Context bound', 'Replay refused', 'Chunk order bound'],
      protocols.map(({ name, bindsReplyKey, bindsProgram, bindsContext, refusesReplay, bindsChunkOrder }) => [
        name,
        ...[bindsReplyKey, bindsProgram, bindsContext, refusesReplay, bindsChunkOrder].map(word),
      ]),
    ),
    openIntro,
    table(
      ['Protocol', 'Fields in clear', 'Other endpoints', 'Reply in clear', 'Receipts'],
      protocols.map(({ name, clearFields, otherEndpoints, repliesInClear, signsReceipts }) => [
        name,
        list(clearFields),
        list(otherEndpoints),
        list(repliesInClear.map(code)),
        word(signsReceipts),
      ]),
    ),
  ]
    .join('\n\n')
    .concat('\n');
