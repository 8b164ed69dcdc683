import type { UnsupportedRequest } from '../adapter.ts';
import { imagesOf, type Turn } from './conversation.ts';

/** The images that an API accepts. */
export interface ImageSupport {
  readonly mediaTypes: ReadonlySet<string>;
  /** Whether it fetches images from an address. */
  readonly takesUrls: boolean;
}

/** Refuses the first image that an API would refuse. */
export function unfitImage(
  turns: readonly Turn[],
  { mediaTypes, takesUrls }: ImageSupport,
): UnsupportedRequest | undefined {
  const unfit = imagesOf(turns).find(({ source }) =>
    'url' in source ? !takesUrls : !mediaTypes.has(source.mediaType),
  );
  if (unfit === undefined) return undefined;
  const { param, source } = unfit;
  const names = [...mediaTypes].map((type) => type.slice('image/'.length));
  const taken = `a ${names.slice(0, -1).join(', ')} or ${names.at(-1)} image`;
  const must = takesUrls ? `must be ${taken}` : `must be a base64 \`data:\` URL of ${taken}`;
  const got =
    'url' in source
      ? ''
      : ` It is ${/^[\w.+/-]{1,64}$/.test(source.mediaType) ? source.mediaType : 'of another type'}.`;
  return { unsupported: `\`${param}\` ${must} for this model.${got}`, param };
}
