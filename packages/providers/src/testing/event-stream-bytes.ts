import { crc32 } from 'node:zlib';

/** A message in the binary framing of AWS streams; header values that are no strings are bytes of that type. */
export function message(
  headers: Readonly<Record<string, string | { readonly type: number; readonly bytes: Buffer }>>,
  payload: string,
): Buffer {
  const named = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const { type, bytes } = typeof value === 'string' ? { type: 7, bytes: withLength(value) } : value;
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([type]), bytes]);
    }),
  );
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + named.length + body.length, 0);
  prelude.writeUInt32BE(named.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const bytes = Buffer.concat([prelude, named, body, Buffer.alloc(4)]);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}

function withLength(text: string): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(2), Buffer.from(text)]);
  bytes.writeUInt16BE(bytes.length - 2, 0);
  return bytes;
}
