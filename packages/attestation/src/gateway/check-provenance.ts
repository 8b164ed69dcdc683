import type { DstackCheckName } from '../dstack/verify-dstack.ts';
import { Refusal, Unmade } from '../refusal.ts';
import type { Check } from '../verdict.ts';
import type { Provenance } from './evidence.ts';

/**
 * Compares the image that a gateway claims to run with the app-compose document that its hardware measured. Without such a
 * document there is nothing to compare with: the claim stays a claim.
 */
export function requireProvenance(
  claimed: Provenance | undefined,
  appCompose: string | undefined,
  dstack: readonly Check<DstackCheckName>[],
): void {
  if (claimed === undefined) throw new Unmade('the gateway does not say what it was built from');
  const isMeasured = dstack.some(({ name, outcome }) => name === 'dstack.app_compose' && outcome === 'passed');
  if (appCompose === undefined || !isMeasured) throw new Unmade('no app-compose document was measured');
  const images = imageDigests(appCompose);
  if (images.size === 0) throw new Unmade('the measured app-compose document names no image by its digest');
  if (!images.has(claimed.image_digest)) {
    throw new Refusal(`the measured app-compose document does not run ${claimed.image_digest}`);
  }
}

/** The digests in the `image:` lines of the compose file inside an app-compose document. */
function imageDigests(appCompose: string): ReadonlySet<string> {
  const images = /^[ \t]*image:[ \t]*["']?[^\s"'#]+@(sha256:[0-9a-f]{64})["']?[ \t]*(?:#.*)?$/gm;
  return new Set([...composeFileOf(appCompose).matchAll(images)].flatMap(([, digest]) => digest ?? []));
}

function composeFileOf(appCompose: string): string {
  try {
    const { docker_compose_file: file } = JSON.parse(appCompose) as { docker_compose_file?: unknown };
    return typeof file === 'string' ? file.replaceAll('\r', '') : '';
  } catch {
    return '';
  }
}
