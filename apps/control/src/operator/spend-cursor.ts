import type { OperatorSpendAnswer } from '@sotto/contract/control/operator';
import { parseJson } from '@sotto/wire';
import * as z from 'zod';
import { badCursor } from '../serve/page-cursor.ts';

/** The place of a row: its month, its cost in nano-USD, its workspace, its payer and its member. */
const cursorSchema = z.tuple([
  z.string().regex(/^\d{4}-\d{2}$/),
  z.string().regex(/^\d{1,18}$/),
  z.uuid(),
  z.uuid(),
  z.uuid(),
]);
export type SpendCursor = z.infer<typeof cursorSchema>;

type Place = Pick<OperatorSpendAnswer['data'][number], 'month' | 'workspace_id' | 'payer_id' | 'member_id'> & {
  readonly cost_nusd: string;
};

export const writeSpendCursor = ({ month, cost_nusd, workspace_id, payer_id, member_id }: Place): string =>
  Buffer.from(JSON.stringify([month, cost_nusd, workspace_id, payer_id, member_id])).toString('base64url');

/** Reads the end of a page. Throws `invalid_request` for any other text. */
export function readSpendCursor(text: string): SpendCursor {
  const read = cursorSchema.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')));
  if (read.success) return read.data;
  throw badCursor();
}
