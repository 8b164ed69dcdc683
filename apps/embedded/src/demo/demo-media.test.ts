import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { demoImage, demoSpeech } from './demo-media.ts';

describe('the demo provider', () => {
  it('paints a PNG of the size that was asked for, the same for the same prompt', () => {
    const image = demoImage('a cat', 300, 128);
    expect(image.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');
    expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([300, 128]);
    const length = image.readUInt32BE(33);
    expect(inflateSync(image.subarray(41, 41 + length)).length).toBe((300 * 3 + 1) * 128);
    expect(demoImage('a cat', 300, 128).equals(image)).toBe(true);
    expect(demoImage('a dog', 300, 128).equals(image)).toBe(false);
  });

  it('says nothing, in whole frames of MP3', () => {
    const speech = demoSpeech('Hello');
    expect(speech.length % 104).toBe(0);
    for (let at = 0; at < speech.length; at += 104) expect(speech.readUInt16BE(at)).toBe(0xfffb);
    expect(demoSpeech('Hello there').length).toBeGreaterThan(speech.length);
  });
});
