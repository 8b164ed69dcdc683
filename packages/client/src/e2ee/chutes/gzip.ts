import { ClientError } from '../../errors.ts';
import { type Bytes, concat } from '../bytes.ts';

export const gzip = (bytes: Bytes): Promise<Bytes> =>
  read(bytes, new CompressionStream('gzip'), Number.POSITIVE_INFINITY);

/** Throws `e2ee_reply_too_large` as soon as more than `maxBytes` come out, `e2ee_reply_malformed` for what is no gzip. */
export async function gunzip(bytes: Bytes, maxBytes: number): Promise<Bytes> {
  try {
    return await read(bytes, new DecompressionStream('gzip'), maxBytes);
  } catch (error) {
    throw error instanceof ClientError ? error : new ClientError('e2ee_reply_malformed');
  }
}

async function read(bytes: Bytes, through: GenericTransformStream, maxBytes: number): Promise<Bytes> {
  const source = new Blob([bytes]).stream();
  const reader: ReadableStreamDefaultReader<Uint8Array> = source
    .pipeThrough<Uint8Array>(through as ReadableWritablePair<Uint8Array, Uint8Array>)
    .getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > maxBytes) {
      await reader.cancel();
      throw new ClientError('e2ee_reply_too_large');
    }
    parts.push(next.value);
  }
  return concat(...parts);
}
