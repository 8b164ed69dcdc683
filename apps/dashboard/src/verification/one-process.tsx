import { useQuery } from '@tanstack/react-query';
import { capabilitiesQuery } from '../api/queries.ts';
import { Notice } from '../ui/surface.tsx';

/** Whether one process runs control and the broker here, as after `npm start`. False until it is known. */
export const useOneProcess = (): boolean => useQuery(capabilitiesQuery).data?.separate_processes.enabled === false;

/** Corrects every claim about control and broker where one process runs both. */
export const oneProcessSentence =
  'Control and broker run in one process here, for evaluation. Its memory has what each of them knows.';

/** The same as a notice. Shows nothing where two processes run. */
export function OneProcessNotice() {
  return useOneProcess() ? <Notice tone="warn">{oneProcessSentence}</Notice> : null;
}
