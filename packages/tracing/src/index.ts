export { openTracing } from './open-tracing.ts';
export type { RequestTrace, Tracing } from './tracing.ts';
