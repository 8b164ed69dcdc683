import { createHmac } from 'node:crypto';
import { type LookupAddress, type LookupOptions, lookup as lookUp } from 'node:dns';
import { type BlockList, isIP } from 'node:net';
import type { WebhookDelivery } from '@sotto/contract/control/alerts';
import { postJson } from '@sotto/server';
import ipaddr from 'ipaddr.js';

type Lookup = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface WebhookNetwork {
  /** Networks that webhooks may reach besides public addresses. */
  readonly networks: BlockList | undefined;
  /** Resolves names; by default as the system does. */
  readonly lookup?: Lookup | undefined;
}

export interface SentEvent {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  /** The same for each attempt, so that receivers can tell repetitions. */
  readonly id: string;
  readonly body: string;
}

const timeoutMs = 5_000;

class AddressNotPublicError extends Error {}

const notPublic: WebhookDelivery = {
  outcome: 'address_not_public',
  status: null,
  message:
    'The URL leads to an address that is not public. The operator can allow its network with the setting `webhooks.networks`.',
};

/**
 * Posts an event once, signed by the scheme of Standard Webhooks. Checks the addresses that the connection is about to use, so
 * that a name cannot lead elsewhere after a check. One address that is not allowed refuses the whole name. Follows no redirect, and
 * reads no body, because the status says all.
 */
export async function sendEvent(
  { url, secret, id, body }: SentEvent,
  { networks, lookup = lookUp }: WebhookNetwork,
  now: number,
): Promise<WebhookDelivery> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[|\]$/g, '');
  // Node resolves no name that already is an address.
  if (target.protocol !== 'https:' || (isIP(host) !== 0 && !isAllowedAddress(host, networks))) return notPublic;
  const timestamp = String(Math.floor(now / 1000));
  const headers = {
    'user-agent': 'Sotto',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signatureOf(secret, `${id}.${timestamp}.${body}`)}`,
  };
  try {
    const { status } = await postJson(target, body, {
      ...{ headers, timeoutMs, maxBytes: 'unread' },
      lookup: checkedLookup(lookup, networks),
    });
    if (status >= 200 && status < 300) return { outcome: 'delivered', status };
    return { outcome: status >= 300 && status < 400 ? 'redirected' : 'refused', status };
  } catch (error) {
    const isTimeout = error instanceof Error && 'code' in error && error.code === 'ABORT_ERR';
    if (error instanceof AddressNotPublicError) return notPublic;
    return { outcome: isTimeout ? 'timeout' : 'unreachable', status: null };
  }
}

function signatureOf(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return createHmac('sha256', key).update(text).digest('base64');
}

/** Resolves a name for `net.connect`, which takes one address or all of them. */
const checkedLookup =
  (lookup: Lookup, networks: BlockList | undefined) =>
  (
    hostname: string,
    options: LookupOptions,
    callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
  ): void =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) callback(error, []);
      else if (first === undefined || !addresses.every(({ address }) => isAllowedAddress(address, networks)))
        callback(new AddressNotPublicError(), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

const globalIpv6 = ipaddr.parseCIDR('2000::/3');

/** Whether an IP address is on the public internet: neither private, nor on this machine, nor reserved for anything else. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  // Reads an IPv4 address that is mapped into IPv6 as the IPv4 address.
  const address = ipaddr.process(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalIpv6));
}

/** Whether webhooks may be sent to an address: a public one, or one in the operator’s `networks`. */
export const isAllowedAddress = (address: string, networks: BlockList | undefined): boolean =>
  isPublicAddress(address) || (networks?.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') ?? false);
