/** What one look found. `warning` works, but not as it should in production. */
export interface Finding {
  readonly verdict: 'ok' | 'warning' | 'wrong';
  /** What was looked at. */
  readonly subject: string;
  /** What was found, without any secret. */
  readonly found: string;
  /** What to do about it. */
  readonly advice?: string | undefined;
}

export const ok = (subject: string, found: string): Finding => ({ verdict: 'ok', subject, found });
export const warning = (subject: string, found: string, advice: string): Finding => ({
  ...{ verdict: 'warning', subject, found, advice },
});
export const wrong = (subject: string, found: string, advice: string): Finding => ({
  ...{ verdict: 'wrong', subject, found, advice },
});

/** The name or the code of an error: its message may hold an address with a password. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  for (let next: unknown = error; next instanceof Error; next = next.cause) {
    if ('code' in next && typeof next.code === 'string') return next.code;
  }
  return error.name === 'Error' ? 'no answer' : error.name;
}
