import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '@sotto/wire';

/** Returns the error for a body whose `content-type` is missing, or is not one that the route accepts. */
export const unsupportedType = ({ 'content-type': sent }: IncomingHttpHeaders): ServiceError =>
  unsupported(
    sent === undefined
      ? 'The header `content-type` is missing: send JSON with `content-type: application/json`.'
      : `\`content-type: ${shown(sent)}\` is not accepted: send JSON with \`content-type: application/json\`.`,
  );

/** Returns the error for a compressed body, if the headers announce one. */
export function unsupportedEncoding({ 'content-encoding': sent }: IncomingHttpHeaders): ServiceError | undefined {
  if (sent === undefined || sent.toLowerCase() === 'identity') return undefined;
  return unsupported(
    `\`content-encoding: ${shown(sent)}\` is not accepted: send the body uncompressed, without \`content-encoding\`.`,
  );
}

const unsupported = (message: string): ServiceError => new ServiceError('unsupported_media_type', { message });

/** A header may have thousands of characters. */
const shown = (value: string): string => value.slice(0, 100);
