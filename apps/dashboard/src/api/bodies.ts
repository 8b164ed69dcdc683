import { bodyFields } from '@sotto/contract';
import { controlOrigin } from '@sotto/contract/control';

/** The fields of each body, by route. The build evaluates this module (`vite.config.ts`), so that the page has no schemas. */
export const bodies = bodyFields(controlOrigin);
