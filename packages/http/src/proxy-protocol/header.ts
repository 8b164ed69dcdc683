import { isIP } from 'node:net';

/**
 * What a connection of a proxy begins with (HAProxy's PROXY protocol, version 1 or 2):
 * `unfinished`, more bytes are needed; `malformed`, it is no such header; else how long it is, and whose connection it is:
 * undefined where it is the proxy's own (a health check) or of a kind that has no address.
 */
export type ProxyHeader =
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'header'; readonly bytes: number; readonly address: string | undefined };

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
/** Of version 1: `PROXY TCP6` with two addresses and two ports, and CRLF. */
const longestLine = 107;
/** Of version 2: addresses and whatever the proxy says besides, such as the name of its endpoint. */
const longestBlock = 2048;

const unfinished = { kind: 'unfinished' } as const;
const malformed = { kind: 'malformed' } as const;

/** Reads the header that `bytes` begin with. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (bytes.length === 0) return unfinished;
  return bytes[0] === signature[0] ? readBlock(bytes) : readLine(bytes);
}

function readBlock(bytes: Buffer): ProxyHeader {
  const seen = Math.min(bytes.length, signature.length);
  if (bytes.compare(signature, 0, seen, 0, seen) !== 0) return malformed;
  if (bytes.length < 16) return unfinished;
  const [versionAndCommand, familyAndTransport] = [bytes.readUInt8(12), bytes.readUInt8(13)];
  const length = bytes.readUInt16BE(14);
  if (versionAndCommand >> 4 !== 2 || (versionAndCommand & 15) > 1 || length > longestBlock) return malformed;
  if (bytes.length < 16 + length) return unfinished;
  const isOwn = (versionAndCommand & 15) === 0;
  const block = bytes.subarray(16, 16 + length);
  const header = (address: string | undefined): ProxyHeader => ({ kind: 'header', bytes: 16 + length, address });
  switch (familyAndTransport >> 4) {
    case 1:
      return length < 12 ? malformed : header(isOwn ? undefined : [...block.subarray(0, 4)].join('.'));
    case 2:
      return length < 36 ? malformed : header(isOwn ? undefined : readIpv6(block));
    default:
      return header(undefined);
  }
}

function readIpv6(block: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => block.readUInt16BE(2 * at).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, longestLine).indexOf('\r\n');
  if (end < 0) {
    const beginning = 'PROXY '.slice(0, Math.min(bytes.length, 6));
    const mayBe = bytes.length < longestLine && bytes.toString('latin1', 0, beginning.length) === beginning;
    return mayBe ? unfinished : malformed;
  }
  const line = bytes.toString('latin1', 0, end);
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { kind: 'header', bytes: end + 2, address: undefined };
  const [, family, from = '', to = ''] = /^PROXY TCP([46]) (\S+) (\S+) \d{1,5} \d{1,5}$/.exec(line) ?? [];
  if (family === undefined || isIP(from) !== Number(family) || isIP(to) !== Number(family)) return malformed;
  return { kind: 'header', bytes: end + 2, address: from };
}
