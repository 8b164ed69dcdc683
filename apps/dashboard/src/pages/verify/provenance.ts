export interface Provenance {
  readonly repository: string;
  readonly commit: string;
  readonly image_digest: string;
}

/**
 * What an evidence document claims to be built from (`gateway.provenance` says whether the image is the measured one);
 * undefined where it says nothing usable. Links are of https alone.
 */
export function provenanceOf(document: unknown): Provenance | undefined {
  const claimed =
    typeof document === 'object' && document !== null && 'provenance' in document ? document.provenance : undefined;
  if (typeof claimed !== 'object' || claimed === null) return undefined;
  const { repository, commit, image_digest } = claimed as Readonly<Record<string, unknown>>;
  if (typeof repository !== 'string' || URL.parse(repository)?.protocol !== 'https:') return undefined;
  if (typeof commit !== 'string' || typeof image_digest !== 'string') return undefined;
  return { repository, commit, image_digest };
}
