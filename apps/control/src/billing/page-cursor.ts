import { ServiceError } from '@sotto/wire';

/** Where a page ended: the time and id of its last row. */
export interface PageCursor {
  readonly at: Date;
  readonly id: string;
}

export const writeCursor = ({ at, id }: PageCursor): string =>
  Buffer.from(`${at.toISOString()} ${id}`).toString('base64url');

/** Reads what `writeCursor` wrote; throws `invalid_request` for anything else. */
export function readCursor(text: string, idPattern: RegExp): PageCursor {
  const [at = '', id = ''] = Buffer.from(text, 'base64url').toString('utf8').split(' ');
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime()) || instant.toISOString() !== at || !idPattern.test(id)) {
    throw new ServiceError('invalid_request', {
      message: '`cursor` must be the `next_cursor` of an earlier page.',
      param: 'cursor',
    });
  }
  return { at: instant, id };
}
