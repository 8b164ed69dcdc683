/** Intel's statuses of a platform, best first. */
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

/** Combines several assessments of one platform: the worst status and all advisories. */
export function worstOf(assessments: readonly TcbAssessment[]): TcbAssessment {
  const worst = Math.max(...assessments.map(({ status }) => tcbStatuses.indexOf(status)));
  return {
    status: tcbStatuses[worst] ?? 'Revoked',
    advisories: [...new Set(assessments.flatMap(({ advisories }) => advisories))].sort(),
  };
}

/**
 * Whether one assessment is accepted. It must be up to date, or need only software hardening. In the second case it
 * must name advisories, and the client's software must answer all of them. Everything else is refused.
 */
export function isAcceptable({ status, advisories }: TcbAssessment, acceptedAdvisories: readonly string[]): boolean {
  if (status === 'UpToDate') return true;
  return (
    status === 'SWHardeningNeeded' &&
    advisories.length > 0 &&
    advisories.every((advisory) => acceptedAdvisories.includes(advisory))
  );
}
