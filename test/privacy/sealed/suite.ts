import type { Service } from '../../kit/service.ts';
import type { SealedWorld } from './world.ts';

/** What a suite about sealed requests runs on; only within tests and hooks. */
export interface SealedStage {
  readonly service: Service;
  readonly world: SealedWorld;
}
