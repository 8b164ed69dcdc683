import * as z from 'zod';

const address = /^https:\/\/[^\s\\]+$/i;
/** Pixels only: an SVG can name further addresses, and providers hand other media to other parsers. */
const imageData = /^data:image\/(?:avif|bmp|gif|heic|heif|jpe?g|png|tiff?|webp)(?:;[\w-]+=[\w.-]+)*;base64,/i;

/** Schemes that a refusal may name. Any other word before a colon may be content. */
const named: ReadonlySet<string> = new Set(
  'about blob data file ftp ftps gopher gs http javascript ldap s3 sftp smb ssh unix ws wss'.split(' '),
);

/**
 * Where an image is: at an https address, which the provider fetches, or in a base64 `data:` URL. A provider would
 * fetch any other scheme from inside of its network, or read its own files.
 */
export const imageUrlSchema = z.string().refine((url) => address.test(url) || imageData.test(url), {
  error: ({ input }) => `must be an https address or a base64 \`data:\` URL of an image${faultOf(String(input))}`,
});

function faultOf(url: string): string {
  const scheme = /^([a-z0-9]{2,10}):/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (scheme === 'data') return ' such as `data:image/png;base64,…`';
  return named.has(scheme) ? `, not \`${scheme}:\`` : '';
}
