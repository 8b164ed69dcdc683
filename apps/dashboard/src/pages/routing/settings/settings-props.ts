import type { Draft, DraftProblems } from '../draft.ts';

/** What every card of settings takes. */
export interface SettingsProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly disabled: boolean;
  readonly problems: DraftProblems;
}
