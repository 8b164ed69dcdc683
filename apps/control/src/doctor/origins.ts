import { type Finding, ok, reasonOf, wrong } from './check.ts';

const timeoutMs = 5000;

/** Whether a plane answers at its public address, and is ready. */
export async function examineOrigin(subject: string, variable: string, origin: string): Promise<Finding> {
  try {
    const answer = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' });
    await answer.body?.cancel();
    if (answer.status === 200) return ok(subject, `is ready at ${origin}`);
    return wrong(
      subject,
      answer.status === 503
        ? `is not ready at ${origin}`
        : `something else answers at ${origin}, with status ${answer.status}`,
      answer.status === 503
        ? 'What it waits for is above, or in its log.'
        : `Let ${variable}, or what stands before it, lead to the right process.`,
    );
  } catch (error) {
    return wrong(
      subject,
      `does not answer at ${origin} (${reasonOf(error)})`,
      `Check ${variable}, that it runs, and its certificate.`,
    );
  }
}
