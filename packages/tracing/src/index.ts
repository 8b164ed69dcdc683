export { type Attributes, type RequestTrace, Tracing, type TracingOptions } from './tracing.ts';
