import { ApiError } from '../../api/errors.ts';

/** Reads addresses that are separated by lines, commas or semicolons, each once. `Ann <ann@example.com>` is one, too. */
export function readAddresses(text: string): { readonly emails: readonly string[]; readonly wrong: readonly string[] } {
  const parts = text
    .split(/[\n,;]+/)
    .map((part) => (/<([^<>]*)>\s*$/.exec(part)?.[1] ?? part).trim().toLowerCase())
    .filter((part) => part !== '');
  const [emails, wrong] = [new Set<string>(), new Set<string>()];
  for (const part of parts) (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(part) ? emails : wrong).add(part);
  return { emails: [...emails], wrong: [...wrong] };
}

export interface InvitedSoFar {
  /** Links by address, which are shown only now. */
  readonly links: readonly (readonly [email: string, link: string])[];
  readonly refused: readonly (readonly [email: string, reason: string])[];
}

export interface InviteAllParts {
  /** Invites one address. Resolves to its link. */
  readonly invite: (email: string) => Promise<string>;
  readonly onProgress: (sofar: InvitedSoFar) => void;
  /** Resolves after so many ms, or when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Invites addresses one by one, and waits as long as the service says when it limits invitations. An address that is refused for another
 * reason is noted, and the next one follows. Ends early if the connection breaks or the signal aborts: what was invited stays.
 */
export async function inviteAll(
  emails: readonly string[],
  { invite, onProgress, sleep, signal }: InviteAllParts,
): Promise<void> {
  let sofar: InvitedSoFar = { links: [], refused: [] };
  const left = [...emails];
  while (left.length > 0 && !signal.aborted) {
    const [email = ''] = left;
    try {
      const link = await invite(email);
      sofar = { ...sofar, links: [...sofar.links, [email, link]] };
    } catch (error) {
      // No answer, or the session has ended.
      if (!(error instanceof ApiError) || error.status === 0 || error.status === 401) throw error;
      if (error.status === 429 && error.retryAfterS !== undefined) {
        await sleep(error.retryAfterS * 1000, signal);
        continue;
      }
      sofar = { ...sofar, refused: [...sofar.refused, [email, error.message]] };
    }
    left.shift();
    onProgress(sofar);
  }
}
