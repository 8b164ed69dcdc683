import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { failuresSuite } from './failures.suite.ts';
import { type MediaWorld, startWorld } from './world.ts';

let world: MediaWorld | undefined;

// Which planes run and how does not matter here: providers are the broker's alone.
await describeInBothPlanes(
  'providers of images and speech that fail',
  async () => {
    world = await startWorld();
    return world;
  },
  (planes) =>
    failuresSuite({
      get service() {
        return planes.service;
      },
      get world() {
        if (world === undefined) throw new Error('the providers run within tests and hooks only');
        return world;
      },
    }),
  { planes: ['one'] },
);
