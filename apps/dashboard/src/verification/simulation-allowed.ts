import { makeTabState } from '../session/tab-state.ts';

/** Whether the user agreed to send content on simulated evidence, which is accepted on this machine only. */
export const simulationAllowed = makeTabState(false);
