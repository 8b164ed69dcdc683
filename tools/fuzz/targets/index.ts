import type { FuzzTarget } from '../engine/target.ts';

/** Targets that are loaded together, and their share of all inputs. */
interface TargetGroup {
  readonly share: number;
  load(): Promise<readonly FuzzTarget[]>;
}

/**
 * Every parser of untrusted bytes, in groups that are loaded in turn. Coverage queries take longer with more loaded
 * code, so the group that loads the most is last.
 */
export const targetGroups: readonly TargetGroup[] = [
  { share: 0.3, load: async () => (await import('./answers.ts')).answerTargets() },
  { share: 0.15, load: async () => (await import('./requests.ts')).requestTargets },
  { share: 0.3, load: async () => (await import('./envelopes.ts')).envelopeTargets },
  { share: 0.12, load: async () => (await import('./sealed.ts')).sealedTargets() },
  { share: 0.05, load: async () => (await import('./evidence.ts')).evidenceTargets },
  { share: 0.03, load: async () => (await import('./webhooks.ts')).webhookTargets },
  { share: 0.05, load: async () => (await import('./files.ts')).fileTargets },
];
