import { isIPv6, SocketAddress } from 'node:net';

/**
 * What counts as one caller of an address: itself or, of IPv6, its first 64 bits, which is the least that somebody is given
 * (RFC 6177, 2). What is no address comes back as it is.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const { address: plain } = new SocketAddress({ address: address.replace(/%.*$/, ''), family: 'ipv6' });
  const [before = '', after] = plain.split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const gap = after === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0');
  return `${[...head, ...gap, ...tail].slice(0, 4).join(':')}::/64`;
}
