/** Where an image is: in the request itself, or at an https address that the provider fetches. */
export type ImageSource = { readonly mediaType: string; readonly base64: string } | { readonly url: string };

/** Reads the URL of an image part, which the schema of the request has checked. The media type is lower case. */
export function readImageUrl(url: string): ImageSource {
  if (!/^data:/i.test(url)) return { url };
  const comma = url.indexOf(',');
  const [mediaType = ''] = url.slice('data:'.length, comma).toLowerCase().split(';');
  return { mediaType, base64: url.slice(comma + 1) };
}
