import type { RequestListener, ServerResponse } from 'node:http';
import { errorEnvelope, headerNames, ServiceError } from '@sotto/wire';
import { inTurn } from './in-turn.ts';
import { LoadGate } from './load-gate.ts';
import { requestId } from './random-id.ts';
import { memoryReturn } from './return-memory.ts';

const shedReportMs = 1000;

interface GateOptions {
  /** The paths that pages of any origin may call. */
  readonly isOpenToPages: (path: string) => boolean;
  /** Called at most once a second with the number of requests rejected for overload since. */
  readonly onShed: (requests: number) => void;
}

/**
 * Admits a request when there is time for it. Health checks are always answered: an overloaded process is alive and
 * ready.
 */
export function gated({ isOpenToPages, onShed }: GateOptions, handler: RequestListener) {
  const gate = new LoadGate({
    now: () => performance.now(),
    restedMs: () => performance.nodeTiming.idleTime,
    afterThisTurn: (task) => setImmediate(task),
    after: (task, ms) => setTimeout(task, ms).unref(),
  });
  let shed = 0;
  let report: NodeJS.Timeout | undefined;
  const countShed = (): void => {
    shed += 1;
    report ??= setTimeout(() => {
      onShed(shed);
      shed = 0;
      report = undefined;
    }, shedReportMs).unref();
  };
  const refuseAs =
    (error: ServiceError): RequestListener =>
    (request, response) => {
      const isOpen = isOpenToPages(request.url?.split('?')[0] ?? '');
      if (!request.socket.destroyed) refuseBarely(response, error, isOpen);
    };
  const refuseForLoad = refuseAs(overloaded);
  const admit: RequestListener = (request, response) =>
    gate.admit({
      begin() {
        // The client left while its request waited.
        if (request.socket.destroyed) return gate.ended();
        memoryReturn.begun();
        response.once('close', () => {
          gate.ended();
          memoryReturn.ended();
        });
        handler(request, response);
      },
      refuse() {
        countShed();
        refuseForLoad(request, response);
      },
    });
  const admitInTurn = inTurn(admit, refuseAs(crowded));
  const admitting: RequestListener = (request, response) => {
    const isHealth = request.url === '/healthz' || request.url === '/readyz';
    (isHealth ? handler : admitInTurn)(request, response);
  };
  return { admitting, stop: () => clearTimeout(report) };
}

const overloaded = new ServiceError('service_unavailable', {
  message: 'More requests come than can be served now. Nothing was done: send this one again after `retry-after`.',
});

const crowded = new ServiceError('service_unavailable', {
  message: 'Too many requests wait on this connection. Nothing was done: send this one again on another connection.',
});

/** Rejects a request with as little work as possible, because that time is taken from requests that are served. */
function refuseBarely(response: ServerResponse, error: ServiceError, isOpen: boolean): void {
  const id = requestId();
  const body = JSON.stringify(errorEnvelope(error, id));
  response.writeHead(error.status, [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
    'cache-control',
    'no-store',
    'retry-after',
    '1',
    headerNames.requestId,
    id,
    ...(isOpen ? ['access-control-allow-origin', '*', 'access-control-expose-headers', '*'] : []),
  ]);
  response.end(body, 'utf8');
}
