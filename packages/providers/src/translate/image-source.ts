/** Where an image is: in the request itself, or at an address that the provider fetches. */
export type ImageSource = { readonly mediaType: string; readonly base64: string } | { readonly url: string };

const base64Suffix = ';base64';

/** Reads the URL of an image part; undefined where it is neither https nor a base64 `data:` URL of an image. */
export function readImageUrl(url: string): ImageSource | undefined {
  if (/^https:\/\//i.test(url)) return { url };
  if (!/^data:image\//i.test(url)) return undefined;
  const comma = url.indexOf(',');
  const header = url.slice('data:'.length, comma);
  if (comma === -1 || !header.toLowerCase().endsWith(base64Suffix)) return undefined;
  const [mediaType = ''] = header.slice(0, -base64Suffix.length).toLowerCase().split(';');
  return { mediaType, base64: url.slice(comma + 1) };
}
