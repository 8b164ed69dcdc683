import { type Currency, meetsVerdict, type Verdict } from '@sotto/attestation';
import type { AcceptableEnclaveVerdict } from '../enclave/enclave-sessions.ts';
import { type AcceptableVerdict, isAcceptable, notCurrentWords } from '../gateway/acceptance.ts';
import { isVerified, type VerificationReport } from '../report/verify.ts';
import type { ExitCode } from './terminal.ts';

/** What a report must reach. */
export interface Demands {
  /** Of the confidential origin. Undefined: its evidence is simulated, and accepted. */
  readonly minimum: AcceptableVerdict | undefined;
  readonly minimumOfProvider: AcceptableEnclaveVerdict;
}

interface Judged {
  readonly of: Currency & { readonly verdict: Verdict };
  readonly minimum: AcceptableVerdict;
  readonly whose: string;
}

const absent = { verdict: 'unavailable', isCurrent: false, notCurrent: [] } as const;

/** Judges a report as the client does before it sends content. Returns the exit code, and a sentence for each hop that misses its demand. */
export function judgeReport(
  { gateway, enclave }: Pick<VerificationReport, 'gateway' | 'enclave'>,
  { minimum, minimumOfProvider }: Demands,
): { readonly code: ExitCode; readonly notes: readonly string[] } {
  const hops: Judged[] = minimum === undefined ? [] : [{ of: gateway, minimum, whose: 'of the confidential origin' }];
  if (enclave !== undefined)
    hops.push({ of: isVerified(enclave) ? enclave : absent, minimum: minimumOfProvider, whose: 'of the provider' });
  const missed = hops.filter((hop) => !isAcceptable(hop.of, hop.minimum));
  const notes = missed.map(({ of, minimum: wanted, whose }) =>
    meetsVerdict(of.verdict, wanted)
      ? `The evidence ${whose} is not shown to be up to date, so the client sends no content there.`
      : `The verdict ${whose} is ${of.verdict}; ${wanted} is required.`,
  );
  const isAbsent = missed.length > 0 && missed.every(({ of }) => of.verdict === 'unavailable');
  return { code: missed.length === 0 ? 0 : isAbsent ? 3 : 1, notes };
}

/** Says in a line whether evidence is up to date. Says nothing of evidence that could not be read, or is simulated. */
export function currencyLines(of: Currency): string[] {
  if (of.notCurrent.length > 0) return [`Up to date           NOT SHOWN: ${notCurrentWords(of)}`];
  return of.isCurrent ? ['Up to date           yes'] : [];
}
