import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { memorySuite } from './memory.suite.ts';
import { servingSuite } from './serving.suite.ts';
import type { MediaStage } from './suite.ts';
import { ticketsSuite } from './tickets.suite.ts';
import { type MediaWorld, startWorld } from './world.ts';

let world: MediaWorld | undefined;

await describeInBothPlanes(
  'images and speech',
  async () => {
    world = await startWorld();
    return world;
  },
  (planes) => {
    const stage: MediaStage = {
      get service() {
        return planes.service;
      },
      get world() {
        if (world === undefined) throw new Error('the providers run within tests and hooks only');
        return world;
      },
    };
    ticketsSuite(stage);
    memorySuite(stage);
    servingSuite(stage);
  },
);
