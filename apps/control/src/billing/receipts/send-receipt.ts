import type { ReceiptAnswer } from '@sotto/wire';
import type { FastifyReply } from 'fastify';
import { receiptPage, receiptPagePolicy } from './receipt-page.ts';
import { receiptPdf } from './receipt-pdf.ts';

type Format = 'json' | 'html' | 'pdf';

/** Answers with a receipt as JSON, as a page to print or as a PDF: as `format` says or, without it, as `accept` prefers. */
export async function sendReceipt(
  reply: FastifyReply,
  receipt: ReceiptAnswer,
  wish: { readonly format: Format | undefined; readonly accept: string | undefined },
): Promise<ReceiptAnswer | FastifyReply> {
  const format = wish.format ?? acceptedFormat(wish.accept);
  reply.header('vary', 'accept');
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
}

const mediaTypes: readonly (readonly [string, Format])[] = [
  ['application/json', 'json'],
  ['text/html', 'html'],
  ['application/pdf', 'pdf'],
];

/** The format that `accept` likes best; JSON where it does not say, or names none of ours. */
function acceptedFormat(accept = ''): Format {
  const ranges = accept.split(',').map((range) => {
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
