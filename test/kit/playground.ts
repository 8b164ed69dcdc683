import { fileURLToPath } from 'node:url';
import { ensurePlayground } from '../../scripts/dashboard.mjs';

/** Builds the page of `sotto playground` from the present sources. */
export const buildPlayground = (): Promise<void> =>
  ensurePlayground({ root: fileURLToPath(new URL('../../', import.meta.url)), node: process.execPath });
