import { type Mutant, mutantsAt } from '../mutant.ts';

const gateway = 'apps/confidential/src/gateway';
const relay = 'test/privacy/attestation/channel.test.ts';

/** Evidence covers the connection that carries content: each rule without which relayed evidence would pass. */
export const channelMutants: readonly Mutant[] = [
  ...mutantsAt(
    {
      folder: 'channel',
      file: 'packages/attestation/src/gateway/verify-gateway.ts',
      tests: ['packages/attestation/src/gateway/channel-binding.test.ts', relay],
    },
    [
      ['announced', 'channel_bindings.includes(channelBinding)', 'false'],
      ['demanded', 'if (pins.channel !== true && !isOffered) throw', 'if (!isOffered) throw'],
      ['own-exporter', "ownBytes(channel.exporter, 'the exported value', 64)", 'new Uint8Array(32)'],
      [
        'blind-demanded',
        'if (pins.channel === true)\n      throw new Refusal',
        'if (channel !== undefined)\n      throw new Refusal',
      ],
      ['binding-of-nothing', "binding: bound ? bindingOf(all) : 'none'", 'binding: bindingOf(all)'],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'channel',
      file: 'packages/attestation/src/merkle.ts',
      tests: [
        'packages/attestation/src/statement/channel-tree.test.ts',
        'packages/client/src/releases/log/merkle.test.ts',
      ],
    },
    [
      ['node-prefix', 'concatBytes(Uint8Array.of(1), left', 'concatBytes(Uint8Array.of(0), left'],
      ['outside', 'if (index >= size) return undefined;', ''],
      ['long-path', 'return rest.length === 0 ? root : undefined;', 'return root;'],
    ],
  ),
  ...mutantsAt({ folder: 'channel', file: `${gateway}/exported-value.ts`, tests: [relay] }, [
    ['old-tls-at-broker', " || socket.getProtocol() !== 'TLSv1.3'", ''],
  ]),
  ...mutantsAt({ folder: 'channel', file: `${gateway}/key-set-keeper.ts`, tests: [relay] }, [
    ['announcement', '...(tlsKeys && { channel_bindings: [channelBinding] })', '...(tlsKeys && {})'],
  ]),
  ...mutantsAt(
    { folder: 'channel', file: `${gateway}/attestation-route.ts`, tests: [`${gateway}/attestation-route.test.ts`] },
    [
      ['limit-by-address', 'exporter === undefined || bound.has(socket) ?', 'true ?'],
      ['no-limit', 'if (exporter !== undefined) bound.add(socket)', ''],
    ],
  ),
  ...mutantsAt(
    { folder: 'channel', file: `${gateway}/channel-queue.ts`, tests: [`${gateway}/channel-queue.test.ts`] },
    [
      ['unwanted', 'if (waiting.isWanted()) continue;', 'continue;'],
      ['one-network', '&& own.length < mostOfOneNetwork', ''],
      ['dead-places', 'if (!this.#hasPlaceFor(network)) this.#dropUnwanted();', ''],
    ],
  ),
  ...mutantsAt(
    { folder: 'channel', file: `${gateway}/one-at-a-time.ts`, tests: [`${gateway}/one-at-a-time.test.ts`] },
    [
      ['batch-first', 'if (other.length > 0) [last', 'if (last.length === 0) [last'],
      ['batches-only', '[last, other] = [other, last];', 'last = this.#batches;'],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'channel',
      file: 'packages/client/src/platform/node-connection.ts',
      tests: ['packages/client/src/platform/node-connection.test.ts'],
    },
    [
      ['reconnect', 'if (dials > 1) return', 'if (dials > 9) return'],
      ['old-tls-at-client', "if (socket.getProtocol() !== 'TLSv1.3') return { exporter: undefined };", ''],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'channel',
      file: 'packages/client/src/gateway/gateway-session.ts',
      tests: [relay, 'test/contract/own-client/private-fetch-tls.test.ts'],
    },
    [
      [
        'unattested',
        "binding === 'channel' && connection !== undefined\n        ?",
        "binding === 'none' && connection !== undefined\n        ?",
      ],
      ['other-key-set', '&& keySetDigest(keySet) === digest', '&& digest !== undefined'],
    ],
  ),
  ...mutantsAt(
    {
      folder: 'channel',
      file: 'packages/client/src/gateway/gateway-session.ts',
      tests: ['packages/client/src/gateway/gateway-session.test.ts'],
    },
    [
      ['end-of-pin', 'keySet.not_after * 1000, pinEnds,', 'keySet.not_after * 1000,'],
      ['equal-session', 'current.keySetDigest === digest && now()', 'false && now()'],
      ['closed', "this.#closing.abort(new DOMException('The client was closed.', 'AbortError'));", ''],
    ],
  ),
];
