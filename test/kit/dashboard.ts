import { fileURLToPath } from 'node:url';
import { ensureDashboard } from '../../scripts/dashboard.mjs';

/** Builds the dashboard before any test, so that control serves the present sources. */
export async function setup(): Promise<void> {
  await ensureDashboard({ root: fileURLToPath(new URL('../../', import.meta.url)), node: process.execPath });
}
