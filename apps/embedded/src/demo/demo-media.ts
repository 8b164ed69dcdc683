import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

/** An image of a size in one colour, which depends on the prompt: a PNG. */
export function demoImage(prompt: string, width: number, height: number): Buffer {
  const colour = createHash('sha256').update(prompt).digest().subarray(0, 3);
  // Each row begins with the number of its filter, which is none.
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, colour)]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits a channel, red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const chunk = Buffer.alloc(named.length + 8);
  chunk.writeUInt32BE(content.length, 0);
  chunk.set(named, 4);
  chunk.writeUInt32BE(crc32(named), named.length + 4);
  return chunk;
}

/** MPEG-1 layer III at 32 kbit/s and 44.1 kHz, mono: 26 ms each, and all zeros is silence. */
const silentFrame = Buffer.concat([Buffer.from('fffb10c0', 'hex'), Buffer.alloc(100)]);
const framesPerCharacter = 3;

/** Silence, for about as long as the text would take to say: an MP3. */
export const demoSpeech = (text: string): Buffer =>
  Buffer.concat(Array.from({ length: Math.max(text.length, 1) * framesPerCharacter }, () => silentFrame));
