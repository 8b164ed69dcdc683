import { fileURLToPath } from 'node:url';
import { buildPlaygroundPage, ensurePlayground } from '../../scripts/dashboard.mjs';

const context = { root: fileURLToPath(new URL('../../', import.meta.url)), node: process.execPath };

/** Builds the page of `sotto playground` where the command finds it, unless it is of the present sources. */
export const buildPlayground = (): Promise<void> => ensurePlayground(context);

/** Builds the page once more, into a folder of its own. */
export const buildPlaygroundInto = (folder: string): Promise<void> => buildPlaygroundPage(context, folder);
