import { isIPv4, isIPv6 } from 'node:net';

/**
 * Returns the network that every limit counts as one caller, in one spelling. That is an IPv4 address itself, or the first
 * 64 bits of an IPv6 address, which is the least that a customer gets (RFC 6177, 2). IPv4 that is written as IPv6
 * (`::ffff:203.0.113.5`, `::ffff:cb00:7105`) is IPv4. A port after the address, as some proxies add it, is dropped.
 * Everything that is not an address counts as one caller, `unknown`.
 */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address;
  const [, bracketed, beforePort] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? [];
  const bare = bracketed ?? beforePort ?? address;
  if (isIPv4(bare)) return bare;
  return isIPv6(bare) ? ipv6Network(bare) : 'unknown';
}

function ipv6Network(address: string): string {
  // The URL parser has one spelling for each address (WHATWG URL, 3.5). It does not accept a zone, which only names the
  // interface of the server.
  const spelled = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(spelled) ?? [];
  if (high !== undefined && low !== undefined) {
    const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
    return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
  }
  const [before = '', after] = spelled.split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0');
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(':')}::/64`;
}

interface AddressLimitOptions {
  readonly perMinute: number;
  /** The number of addresses that have a count of their own. All others share one count. */
  readonly maxAddresses: number;
  readonly now: () => number;
}

const minuteMs = 60_000;

/** Counts requests by network within a minute. Memory is bounded and is cleared when the minute ends. */
export class AddressLimit {
  readonly #options: AddressLimitOptions;
  #counts = new Map<string, number>();
  #endsAt = 0;

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /** Counts one request. Returns undefined if it is within the limit, else the seconds until the next one is. */
  take(address: string): number | undefined {
    const { perMinute, maxAddresses, now } = this.#options;
    const at = now();
    if (at >= this.#endsAt || at < this.#endsAt - minuteMs) {
      this.#counts = new Map();
      this.#endsAt = at + minuteMs;
    }
    const own = networkOf(address);
    const caller = this.#counts.has(own) || this.#counts.size < maxAddresses ? own : 'others';
    const count = (this.#counts.get(caller) ?? 0) + 1;
    this.#counts.set(caller, count);
    return count > perMinute ? Math.max(1, Math.ceil((this.#endsAt - at) / 1000)) : undefined;
  }
}
