import { describe, expect, it } from 'vitest';
import { effortLadder, isOnLadder, nearestEffort } from './effort.ts';

describe('nearestEffort', () => {
  it.each([
    ['low', ['low', 'medium', 'high'], 'low'],
    ['minimal', ['low', 'medium', 'high'], 'low'],
    ['max', ['low', 'medium', 'high'], 'high'],
    ['medium', ['low', 'high'], 'low'],
    ['medium', ['high', 'low'], 'low'],
    ['high', ['low', 'xhigh'], 'xhigh'],
    ['none', ['minimal', 'low'], 'minimal'],
    ['none', ['none', 'low'], 'none'],
    ['minimal', ['none', 'high'], 'high'],
    ['deep', ['low', 'deep'], 'deep'],
    ['deep', ['low', 'high'], undefined],
    ['low', ['deep'], undefined],
    ['low', [], undefined],
  ])('of %s on a model that offers %j is %s', (asked, offered, nearest) => {
    expect(nearestEffort(asked, offered)).toBe(nearest);
  });

  it('is the level itself wherever it is offered', () => {
    for (const level of effortLadder) expect(nearestEffort(level, effortLadder)).toBe(level);
  });

  it('distinguishes the common ladder from a model’s own levels', () => {
    expect(effortLadder.every(isOnLadder)).toBe(true);
    expect(isOnLadder('default')).toBe(false);
  });
});
