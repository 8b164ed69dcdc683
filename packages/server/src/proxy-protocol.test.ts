import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readProxyHeader } from './proxy-protocol.ts';

const signature = '0d0a0d0a000d0a515549540a';
const block = (versionAndCommand: number, family: number, body: string): Buffer => {
  const head = Buffer.alloc(4);
  head.writeUInt8(versionAndCommand, 0);
  head.writeUInt8(family, 1);
  head.writeUInt16BE(body.length / 2, 2);
  return Buffer.concat([Buffer.from(signature, 'hex'), head, Buffer.from(body, 'hex')]);
};
const ipv4 = 'c0000201' + 'c6336401' + '1234' + '01bb';
const ipv6 = `${'20010db8000000000000000000000001'}${'20010db8000000000000000000000002'}123401bb`;
const rest = Buffer.from('\x16\x03\x01 what TLS begins with', 'latin1');

describe('the header of a proxy', () => {
  it.each<[string, Buffer, string | undefined]>([
    ['version 2, IPv4', block(0x21, 0x11, ipv4), '192.0.2.1'],
    ['version 2, IPv6', block(0x21, 0x21, ipv6), '2001:db8::1'],
    ['version 2 with more to say', block(0x21, 0x11, `${ipv4}0300040000ab12`), '192.0.2.1'],
    ['version 2, the proxy’s own', block(0x20, 0x00, ''), undefined],
    ['version 2, the proxy’s own with addresses', block(0x20, 0x11, ipv4), undefined],
    ['version 2, a socket of a file', block(0x21, 0x31, '00'.repeat(216)), undefined],
    ['version 1, IPv4', Buffer.from('PROXY TCP4 192.0.2.1 198.51.100.1 4660 443\r\n'), '192.0.2.1'],
    ['version 1, IPv6', Buffer.from('PROXY TCP6 2001:db8::1 2001:db8::2 4660 443\r\n'), '2001:db8::1'],
    ['version 1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
    ['version 1, unknown with addresses', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'), undefined],
  ])('with %s is read, and the bytes after it are left', (_, bytes, address) => {
    expect(readProxyHeader(Buffer.concat([bytes, rest]))).toEqual({ kind: 'header', bytes: bytes.length, address });
    // Any shorter prefix is unfinished.
    for (let length = 0; length < bytes.length; length += 1) {
      expect(readProxyHeader(bytes.subarray(0, length)), `${length} bytes`).toEqual({ kind: 'unfinished' });
    }
  });

  it.each<[string, Buffer]>([
    ['is TLS', rest],
    ['is HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['has another signature', Buffer.from('0d0a0d0a000d0a515549540b', 'hex')],
    ['is of version 3', block(0x31, 0x11, ipv4)],
    ['has a command that there is not', block(0x22, 0x11, ipv4)],
    ['is too short for its addresses', block(0x21, 0x11, 'c0000201')],
    ['is too short for its addresses of IPv6', block(0x21, 0x21, ipv4)],
    ['says that it is longer than any', block(0x21, 0x11, ipv4.padEnd(2 * 2049, '0'))],
    ['has an address that is none', Buffer.from('PROXY TCP4 192.0.2.256 198.51.100.1 1 2\r\n')],
    ['has addresses of another family', Buffer.from('PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n')],
    ['has no ports', Buffer.from('PROXY TCP4 192.0.2.1 198.51.100.1\r\n')],
    ['has no end', Buffer.from(`PROXY TCP4 ${'1'.repeat(200)}`)],
  ])('is rejected if it %s', (_, bytes) => {
    expect(readProxyHeader(bytes)).toEqual({ kind: 'malformed' });
  });

  it('is never longer than the bytes that came, for any bytes', () => {
    const odd = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ maxLength: 300 }).map((tail) => Buffer.concat([Buffer.from(signature, 'hex'), tail])),
      fc.string().map((text) => Buffer.from(`PROXY ${text}\r\n`)),
    );
    fc.assert(
      fc.property(odd, (bytes) => {
        const read = readProxyHeader(Buffer.from(bytes));
        return read.kind !== 'header' || read.bytes <= bytes.length;
      }),
    );
  });
});
