export { bearerToken } from './credentials.ts';
export { type ErrorTrace, lastWords, traceOf } from './error-trace.ts';
export { registerHealth } from './health.ts';
export { readJsonBody } from './json-body.ts';
export { type LogOutlet, openLogOutlet } from './log-outlet.ts';
export { registerOpenApi } from './openapi-route.ts';
export { randomId } from './random-id.ts';
export { type Repeated, repeat } from './repeat.ts';
export { createServer, listenBacklog, type ServerOptions, sendError } from './server.ts';
