import { fileURLToPath } from 'node:url';
import { ensureDashboard } from '../../scripts/dashboard.mjs';

/** Before any test: control serves the dashboard as it is now. */
export async function setup(): Promise<void> {
  await ensureDashboard({ root: fileURLToPath(new URL('../../', import.meta.url)), node: process.execPath });
}
