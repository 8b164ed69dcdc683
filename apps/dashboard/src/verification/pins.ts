import type { ClientPins } from '@sotto/client';
import { makeTabState } from '../session/tab-state.ts';

/** Measurements that somebody accepts instead of those of this build: for this tab, and only if they typed them. */
export const ownPins = makeTabState<ClientPins | undefined>(undefined);
