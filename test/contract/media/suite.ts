import type { Service } from '../../kit/service.ts';
import type { MediaWorld } from './world.ts';

/** What a suite about media runs on; only within tests and hooks. */
export interface MediaStage {
  readonly service: Service;
  readonly world: MediaWorld;
}
