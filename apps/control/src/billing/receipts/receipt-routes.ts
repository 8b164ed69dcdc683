import { billingPageQuerySchema, parseRequest, receiptQuerySchema, ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireSession, type SessionDependencies } from '../../credentials/session-credentials.ts';
import { receiptPage, receiptPagePolicy } from './receipt-page.ts';
import { receiptPdf } from './receipt-pdf.ts';
import { findReceipt, listReceipts } from './receipt-store.ts';

type Format = 'json' | 'html' | 'pdf';

/** `/v1/billing/receipts` (interface 4.5): as JSON, as a page to print, as a PDF. By session, each for its own account. */
export function registerReceipts(app: FastifyInstance, sessions: SessionDependencies): void {
  const { pool } = sessions;

  app.get('/v1/billing/receipts', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const query = parseRequest(billingPageQuerySchema, request.query);
    reply.header('cache-control', 'no-store');
    return listReceipts(pool, accountId, query);
  });

  app.get<{ Params: { receiptNumber: string } }>('/v1/billing/receipts/:receiptNumber', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const { format = acceptedFormat(request) } = parseRequest(receiptQuerySchema, request.query);
    const receipt = await findReceipt(pool, accountId, request.params.receiptNumber);
    if (receipt === undefined) throw new ServiceError('not_found', { message: 'This account has no such receipt.' });
    reply.header('cache-control', 'no-store').header('vary', 'accept');
    switch (format) {
      case 'json':
        return receipt;
      case 'html':
        reply.header('content-security-policy', receiptPagePolicy).header('referrer-policy', 'no-referrer');
        return reply.type('text/html; charset=utf-8').send(receiptPage(receipt));
      case 'pdf':
        reply.header('content-disposition', `attachment; filename="receipt-${receipt.number}.pdf"`);
        return reply.type('application/pdf').send(await receiptPdf(receipt));
      default:
        return format satisfies never;
    }
  });
}

const mediaTypes: readonly (readonly [string, Format])[] = [
  ['application/json', 'json'],
  ['text/html', 'html'],
  ['application/pdf', 'pdf'],
];

/** The format that `accept` likes best; JSON where it does not say, or names none of ours. */
function acceptedFormat({ headers }: FastifyRequest): Format {
  const ranges = (headers.accept ?? '').split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { type, quality: quality === undefined ? 1 : Number(quality) };
  });
  const liking = (type: string): number => ranges.find((range) => range.type === type)?.quality ?? 0;
  let best: Format = 'json';
  let bestLiking = liking('application/json');
  for (const [type, format] of mediaTypes) {
    if (liking(type) > bestLiking) {
      best = format;
      bestLiking = liking(type);
    }
  }
  return best;
}
