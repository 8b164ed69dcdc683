/** Intel's words for how current a platform is, best first. */
export const tcbStatuses = [
  'UpToDate',
  'SWHardeningNeeded',
  'ConfigurationNeeded',
  'ConfigurationAndSWHardeningNeeded',
  'OutOfDate',
  'OutOfDateConfigurationNeeded',
  'Revoked',
] as const;
export type TcbStatus = (typeof tcbStatuses)[number];

/** A status with the advisories that explain it. */
export interface TcbAssessment {
  readonly status: TcbStatus;
  readonly advisories: readonly string[];
}

/** Several assessments of one platform: the worst status and all advisories. */
export function worstOf(assessments: readonly TcbAssessment[]): TcbAssessment {
  const worst = Math.max(...assessments.map(({ status }) => tcbStatuses.indexOf(status)));
  return {
    status: tcbStatuses[worst] ?? 'Revoked',
    advisories: [...new Set(assessments.flatMap(({ advisories }) => advisories))].sort(),
  };
}

/**
 * Whether one assessment is accepted: up to date; or needing software hardening only, when it names advisories and our
 * software answers every one. Everything else is refused.
 */
export function isAcceptable({ status, advisories }: TcbAssessment, acceptedAdvisories: readonly string[]): boolean {
  if (status === 'UpToDate') return true;
  return (
    status === 'SWHardeningNeeded' &&
    advisories.length > 0 &&
    advisories.every((advisory) => acceptedAdvisories.includes(advisory))
  );
}
