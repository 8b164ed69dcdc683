import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { countWords, demoImage, demoSpeech } from './demo-answer.ts';

it('counts the words of a million spaces in no time', () => {
  expect(countWords('one two\n\nthree ')).toBe(3);
  expect(countWords(' '.repeat(1_000_000))).toBe(0);
});

describe('the demo provider', () => {
  it('generates a PNG of the requested size, the same for the same prompt', () => {
    const image = demoImage('a cat', 300, 128);
    expect(image.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');
    expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([300, 128]);
    const length = image.readUInt32BE(33);
    expect(inflateSync(image.subarray(41, 41 + length)).length).toBe((300 * 3 + 1) * 128);
    expect(demoImage('a cat', 300, 128).equals(image)).toBe(true);
    expect(demoImage('a dog', 300, 128).equals(image)).toBe(false);
  });

  it('generates silence in whole MP3 frames', () => {
    const speech = demoSpeech('Hello');
    expect(speech.length % 104).toBe(0);
    for (let at = 0; at < speech.length; at += 104) expect(speech.readUInt16BE(at)).toBe(0xfffb);
    expect(demoSpeech('Hello there').length).toBeGreaterThan(speech.length);
  });
});
