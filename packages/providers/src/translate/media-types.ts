const spellings: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
]);

/** Returns the registered name of a media type that clients also spell in other ways. */
export const registeredMediaType = (mediaType: string): string => spellings.get(mediaType) ?? mediaType;

/** Corrects the media type of a `data:` URL. Servers refuse `image/jpg`, which many clients send. */
export function withRegisteredType(url: string): string {
  const [whole = '', mediaType = ''] = /^data:([^;,]*)/i.exec(url) ?? [];
  const registered = registeredMediaType(mediaType.toLowerCase());
  return registered === mediaType.toLowerCase() ? url : `data:${registered}${url.slice(whole.length)}`;
}
