import type { OriginVerification } from '@sotto/client';
import { browserMinimum, isAccepted, meets, verdictWords } from '../../verification/verdicts.tsx';
import type { Way } from './playground-search.ts';

/** Whether content may go to the machine that was verified. */
interface Standing {
  /** `simulated`: content may go there only if the user agrees, and only on this machine. */
  readonly kind: 'verified' | 'simulated' | 'refused';
  readonly sentence: string;
}

/** The parts of a verification that decide. */
type JudgedOrigin = Pick<OriginVerification, 'verdict' | 'isCurrent' | 'notCurrent' | 'checks' | 'teeType' | 'origin'> &
  Partial<Pick<OriginVerification, 'absence'>>;

/** Decides whether content may be sent after a verification. The client decides again before each request. */
export function standingOf(verification: JudgedOrigin): Standing {
  const { verdict, checks, notCurrent, teeType, absence, origin } = verification;
  if (isAccepted(verification)) {
    return {
      kind: 'verified',
      sentence:
        'Content goes to the verified machine. A browser cannot see the TLS key of its connection, so that part depends on the certificate.',
    };
  }
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  const isSimulated = teeType === 'simulated' && failed.every(({ name }) => name === 'simulated.hardware');
  if (isSimulated && isLoopback(origin)) {
    return {
      kind: 'simulated',
      sentence:
        'The evidence is simulated. No hardware protects your content, so the verdict is always untrusted. This shows how verification works, on this machine only.',
    };
  }
  const isOutdated = meets(verdict, browserMinimum);
  const least = isOutdated
    ? 'Content was not sent: the evidence is not shown to be up to date.'
    : `Content was not sent: a browser needs “${verdictWords[browserMinimum].name}” or stronger.`;
  const why =
    absence ??
    (isOutdated ? notCurrent : failed)
      .map(({ name, ...check }) => `${name}: ${'reason' in check ? check.reason : ''}`)
      .join('; ');
  return { kind: 'refused', sentence: why === '' ? least : `${least} ${why}${/[.!?]$/.test(why) ? '' : '.'}` };
}

/** A word about the verification if the machine is not verified, for where there is little room. */
export function standingNotes(verification: JudgedOrigin | undefined): readonly string[] {
  const kind = verification && standingOf(verification).kind;
  if (kind === 'simulated') return ['Simulated, not verified'];
  return kind === 'refused' ? ['Not verified'] : [];
}

/** The obstacle that the user removes by agreeing. */
export const consentMissing = 'The evidence is simulated. Confirm that you want to continue.';

/** The obstacle that ends by itself. */
const beingVerified = 'The broker is being verified.';

/** Whether the user removes an obstacle in the setup. */
export const needsSetup = (obstacle: string | undefined): boolean =>
  obstacle !== undefined && obstacle !== consentMissing && obstacle !== beingVerified;

/** The reason why nothing can be sent now; undefined if something can. */
export function obstacleOf(now: {
  readonly hasKey: boolean;
  readonly way: Way;
  readonly verification: OriginVerification | undefined;
  readonly isVerifying: boolean;
  readonly allowSimulated: boolean;
}): string | undefined {
  const { hasKey, way, verification, isVerifying, allowSimulated } = now;
  if (!hasKey && way === 'compatibility')
    return 'Compatibility mode needs a key that allows it. Create one, or use another.';
  if (!hasKey) return 'Create a key first, or use an existing one.';
  if (way === 'compatibility') return undefined;
  if (verification === undefined) return isVerifying ? beingVerified : 'The broker could not be verified.';
  const { kind } = standingOf(verification);
  if (kind === 'refused') return 'Content is sent only to a verified machine.';
  if (kind === 'simulated' && !allowSimulated) return consentMissing;
  return undefined;
}

/** Whether an origin is on this machine, as only in development. */
function isLoopback(origin: string): boolean {
  const host = URL.parse(origin)?.hostname ?? '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
