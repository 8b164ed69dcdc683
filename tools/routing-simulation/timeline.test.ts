import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Timeline } from './timeline.ts';

it('lets things happen in the order of their time, and of their planning within an instant', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 })), (times) => {
      const timeline = new Timeline();
      const happened: { at: number; index: number }[] = [];
      for (const [index, at] of times.entries()) timeline.at(at, () => happened.push({ at: timeline.now, index }));
      timeline.run();
      const expected = times.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
      expect(happened).toEqual(expected);
    }),
  );
});

it('lets happen what is planned while something happens', () => {
  const timeline = new Timeline();
  const seen: number[] = [];
  timeline.at(5, () => seen.push(timeline.now));
  timeline.at(1, () => timeline.at(3, () => seen.push(timeline.now)));
  timeline.run();
  expect(seen).toEqual([3, 5]);
});
