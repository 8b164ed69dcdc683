import { Button } from '../../ui/button.tsx';
import { simulationAllowed } from '../../verification/simulation-allowed.ts';
import { consentMissing } from './standing.ts';

/** Agrees to send content on simulated evidence, if only that is missing. Stands beside the sentence that says so. */
export function ConsentButton({ obstacle }: { obstacle: string | undefined }) {
  if (obstacle !== consentMissing) return null;
  return (
    <Button
      small
      data-consent
      className="h-auto py-1 whitespace-normal!"
      onClick={() => simulationAllowed.update(() => true)}
    >
      Continue with simulated evidence
    </Button>
  );
}
