import * as z from 'zod';
import { privacyClasses } from './privacy.ts';

/** Apart from the list, so that pages which want that alone do without the library. */
export const privacyClassSchema = z.enum(privacyClasses);
