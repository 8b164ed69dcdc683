import { fileURLToPath } from 'node:url';

/** The billing terms that come with control. */
export const builtInBilling = fileURLToPath(new URL('../../billing.yaml', import.meta.url));
