import { createHash } from 'node:crypto';
import { type LookupAddress, type LookupOptions, lookup as lookUp } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { buildConnector as connectors, Dispatcher } from 'undici';
import { buildConnector, Pool } from './undici-parts.ts';

/** Makes the connections of `openUpstream` to an origin. */
export type MakePool = (origin: string, connectTimeoutMs: number) => Dispatcher;

const settings = {
  ...{ connections: null, pipelining: 1, keepAliveTimeout: 4_000, maxHeaderSize: 32 * 1024 },
  // Over HTTP/2, one connection that died in silence would take all calls, and undici takes a stream that was cancelled in its middle
  // for a whole one.
  allowH2: false,
};

/** Returns the usual pool. `ca` replaces the well-known certificates. */
export const plainPool =
  (ca: string | undefined): MakePool =>
  (origin, timeout) =>
    new Pool(origin, { ...settings, connect: { timeout, ca } });

/** Makes a pool whose connections a function of ours opens or refuses. */
const guardedPool = (origin: string, connect: connectors.connector): Pool => new Pool(origin, { ...settings, connect });

export interface AttestedTls {
  /** Whether a TLS key was attested: the SHA-256 of its SubjectPublicKeyInfo, lower-case hex. */
  readonly isAttested: (spkiSha256: string) => boolean;
  /** See `UpstreamAddress`. */
  readonly ca?: string | undefined;
}

/** Error code of a connection whose TLS key was not attested. */
export const unattestedKey = 'ERR_TLS_KEY_NOT_ATTESTED';

/**
 * Returns a pool for `openUpstream`. Every connection must show an attested TLS key before a byte of a request is
 * written to it. Connections without TLS are refused. Sessions are not resumed, so that each connection proves the key
 * again.
 */
export function attestedPool({ isAttested, ca }: AttestedTls): MakePool {
  return (origin, timeout) => {
    const connect = buildConnector({ timeout, maxCachedSessions: 0, allowH2: false, ca });
    return guardedPool(origin, (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        const key = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.publicKey : undefined;
        const spki = key?.export({ type: 'spki', format: 'der' });
        if (spki !== undefined && isAttested(createHash('sha256').update(spki).digest('hex'))) {
          callback(null, socket);
          return;
        }
        socket.destroy();
        callback(Object.assign(new Error('the TLS key was not attested'), { code: unattestedKey }), null);
      }),
    );
  };
}

type Lookup = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface PrivateNetwork {
  /** Called for each connection that was refused. */
  readonly onRefused: () => void;
  /** Resolves names; by default as the system does. */
  readonly lookup?: Lookup | undefined;
}

const refusal = (): NodeJS.ErrnoException =>
  Object.assign(new Error('the address is not in a private network'), { code: 'ERR_ADDRESS_NOT_PRIVATE' });

/**
 * Returns a pool for `openUpstream` that connects only within private networks. It checks the addresses that each
 * connection is about to use, so a name cannot lead elsewhere later. One public address refuses the whole name.
 */
export function privatePool({ onRefused, lookup = lookUp }: PrivateNetwork): MakePool {
  /** Resolves a name for `net.connect`, which takes one address or all of them. */
  const resolve = (
    hostname: string,
    options: LookupOptions,
    callback: (
      error: NodeJS.ErrnoException | null,
      address: string | LookupAddress[],
      family?: number | undefined,
    ) => void,
  ): void =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) callback(error, []);
      else if (first === undefined || !addresses.every(({ address }) => isPrivateAddress(address))) {
        onRefused();
        callback(refusal(), []);
      } else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  return (origin, timeout) => {
    const connect = buildConnector({ timeout, allowH2: false, lookup: resolve });
    return guardedPool(origin, (options, callback) => {
      // Node resolves no name that already is an address.
      const host = options.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) === 0 || isPrivateAddress(host)) {
        connect(options, callback);
        return;
      }
      onRefused();
      callback(refusal(), null);
    });
  };
}

const privateNetworks = new BlockList();
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, bits, 'ipv4');
}
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');

/** Where clouds serve a machine's credentials inside fc00::/7: AWS, Google, Oracle, Scaleway. */
const metadataAddresses = new BlockList();
for (const address of ['fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42']) {
  metadataAddresses.addAddress(address, 'ipv6');
}

/**
 * Whether an IP address is on this machine or in a private network (RFC 1918, RFC 4193). Link-local addresses are not,
 * and neither are those where clouds serve a machine's credentials.
 */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  // Node compares an IPv4-mapped IPv6 address with the IPv4 networks.
  return privateNetworks.check(address, type) && !metadataAddresses.check(address, type);
}
