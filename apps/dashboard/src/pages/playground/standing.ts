import type { OriginVerification } from '@sotto/client';
import { isLoopback } from '../../verification/loopback.ts';
import { browserMinimum, meets, verdictWords } from '../../verification/verdicts.ts';

/** Whether content may go to the machine that was verified. */
export interface Standing {
  /** `simulated`: only where somebody says so, on this very machine. */
  readonly kind: 'verified' | 'simulated' | 'refused';
  readonly sentence: string;
}

/** What a verification means for sending. The client judges by itself, too, before each request. */
export function standingOf({ verdict, checks, teeType, absence, origin }: OriginVerification): Standing {
  if (meets(verdict, browserMinimum)) {
    return {
      kind: 'verified',
      sentence:
        'Content goes to the machine that was verified. A browser cannot see the TLS key of its connection; that part rests on the certificate.',
    };
  }
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  const isSimulated = teeType === 'simulated' && failed.every(({ name }) => name === 'simulated.hardware');
  if (isSimulated && isLoopback(origin)) {
    return {
      kind: 'simulated',
      sentence:
        'The evidence is simulated: no hardware protects anything here, so the verdict is always untrusted. It shows how verification works, on this machine only.',
    };
  }
  const least = `A browser sends content on “${verdictWords[browserMinimum].name}” or stronger; nothing is sent.`;
  const why =
    absence ?? failed.map(({ name, ...check }) => `${name}: ${'reason' in check ? check.reason : ''}`).join('; ');
  return { kind: 'refused', sentence: why === '' ? least : `${least} ${why}${/[.!?]$/.test(why) ? '' : '.'}` };
}
