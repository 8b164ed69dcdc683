import { crc32 } from 'node:zlib';

/** A message in the binary framing of AWS streams, as Amazon documents it (`vnd.amazon.eventstream`). */
export function eventStreamMessage(headers: Readonly<Record<string, string>>, payload: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(payload));
  const named = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(12 + named.length + body.length + 4, 0);
  prelude.writeUInt32BE(named.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, named, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message), 0);
  return Buffer.concat([message, checksum]);
}

function header(name: string, value: string): Buffer {
  const text = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length, 0);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, text]);
}

export const bedrockEvent = (type: string, payload: object): Buffer =>
  eventStreamMessage(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    // Bedrock pads its events, against guessing at tokens by their lengths.
    { ...payload, p: 'abcdefghijk'.slice(0, 1 + (JSON.stringify(payload).length % 11)) },
  );

export const bedrockException = (type: string, message: string): Buffer =>
  eventStreamMessage(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    { message },
  );
