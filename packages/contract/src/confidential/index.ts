export { confidentialOrigin } from './origin.ts';
