import type { RailName, ReceiptAnswer } from '@sotto/contract/control/orders';
import type { FastifyReply } from 'fastify';
import { qualityOf } from '../../serve/csv.ts';
import { escaped } from '../../serve/escaped.ts';

type Format = 'json' | 'html' | 'pdf';

/** Sends a receipt as JSON, as a page to print or as a PDF. `asked` decides; without it, the request’s `accept` does. */
export async function sendPaymentReceipt(
  reply: FastifyReply,
  receipt: ReceiptAnswer,
  asked: Format | undefined,
): Promise<ReceiptAnswer | FastifyReply> {
  const format = asked ?? acceptedFormat(reply.request.headers.accept);
  reply.header('vary', 'accept');
  switch (format) {
    case 'json':
      return receipt;
    case 'html':
      reply.header('content-security-policy', receiptPagePolicy).header('referrer-policy', 'no-referrer');
      return reply.type('text/html; charset=utf-8').send(paymentReceiptPage(receipt));
    case 'pdf':
      reply.header('content-disposition', `attachment; filename="receipt-${receipt.number}.pdf"`);
      return reply.type('application/pdf').send(await paymentReceiptPdf(receipt));
    default:
      return format satisfies never;
  }
}

const mediaTypes: readonly (readonly [string, Format])[] = [
  ['text/html', 'html'],
  ['application/pdf', 'pdf'],
];

/**
 * Returns the format that `accept` prefers. Returns JSON if the header is missing or does not name one of our formats.
 */
function acceptedFormat(accept: string | undefined): Format {
  let best: Format = 'json';
  let bestQuality = qualityOf('application/json', accept);
  for (const [type, format] of mediaTypes) {
    const quality = qualityOf(type, accept);
    if (quality > bestQuality) {
      best = format;
      bestQuality = quality;
    }
  }
  return best;
}

const railTexts: Readonly<Record<RailName, string>> = {
  card: 'Card',
  crypto: 'Cryptocurrency',
  test: 'Test (no money was moved)',
};

/** The text of a receipt, shared by the page and the PDF. */
interface ReceiptText {
  readonly title: string;
  readonly number: string;
  readonly seller: readonly string[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly lines: readonly (readonly [label: string, value: string])[];
  readonly total: readonly [label: string, value: string];
}

function receiptText(receipt: ReceiptAnswer): ReceiptText {
  const isNote = receipt.kind === 'credit_note';
  const { name, email, id, details } = receipt.account;
  const fact = (label: string, value: string | null): [string, string][] => (value ? [[label, value]] : []);
  return {
    title: isNote ? 'Credit note' : 'Receipt',
    number: receipt.number,
    seller: [
      receipt.seller.name,
      ...receipt.seller.address.split('\n'),
      ...(receipt.seller.tax_id === null ? [] : [`Tax id ${receipt.seller.tax_id}`]),
    ].filter((line) => line.trim() !== ''),
    facts: [
      ['Number', receipt.number],
      ...fact('Corrects receipt', receipt.corrects),
      ['Date', `${receipt.issued_at.slice(0, 10)} ${receipt.issued_at.slice(11, 16)} UTC`],
      ['Account', name],
      ...fact('E-mail', email === name ? null : email),
      ...fact('Billed to', details),
      ['Account id', id],
      ['Order', receipt.order_id],
      [isNote ? 'Returned by' : 'Paid by', railTexts[receipt.rail]],
    ],
    lines: [
      [isNote ? 'Prepaid balance, returned' : 'Prepaid balance', money(receipt.amount)],
      [isNote ? 'Fee, returned' : 'Fee', money(receipt.fee)],
    ],
    total: ['Total', money(receipt.total)],
  };
}

/** Formats an amount with at least two decimals, and as many as it has. */
const money = (usd: number): string => {
  const [whole = '0', fraction = ''] = usd.toFixed(9).split('.');
  return `USD ${whole}.${fraction.replace(/0{0,7}$/, '')}`;
};

/** Content security policy: the page may show itself with its own inline style, and nothing else. */
const receiptPagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

/** Renders a receipt as an HTML page to read and to print: one file, no scripts, all outside text escaped. */
export function paymentReceiptPage(receipt: ReceiptAnswer): string {
  const { title, number, seller, facts, lines, total } = receiptText(receipt);
  const row = ([label, value]: readonly [string, string]): string =>
    `<tr><th scope="row">${escaped(label)}</th><td>${escaped(value).replaceAll('\n', '<br>')}</td></tr>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${escaped(number)}</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; color: #111; background: #fff; }
  header { display: flex; justify-content: space-between; gap: 2rem; margin-bottom: 2rem; }
  h1 { font-size: 1.5rem; margin: 0; }
  address { font-style: normal; text-align: right; }
  table { border-collapse: collapse; width: 100%; margin-bottom: 2rem; }
  th { text-align: left; font-weight: normal; color: #555; padding: .2rem 1rem .2rem 0; vertical-align: top; }
  td { padding: .2rem 0; overflow-wrap: anywhere; }
  .sums td, .sums th { border-top: 1px solid #ccc; padding: .5rem 0; color: inherit; }
  .sums td { text-align: right; font-variant-numeric: tabular-nums; }
  .sums tfoot th, .sums tfoot td { font-weight: bold; border-top: 2px solid #111; }
  @media print { @page { size: A4; margin: 20mm; } body { margin: 0; max-width: none; } }
</style>
</head>
<body>
<header><h1>${title}</h1><address>${seller.map(escaped).join('<br>')}</address></header>
<table>${facts.map(row).join('')}</table>
<table class="sums"><tbody>${lines.map(row).join('')}</tbody><tfoot>${row(total)}</tfoot></table>
</body>
</html>
`;
}

const marginPt = 56;
const labelPt = 130;

/** Renders a receipt as a PDF of one page. The same receipt gives the same bytes. */
export async function paymentReceiptPdf(receipt: ReceiptAnswer): Promise<Buffer> {
  // Large, and seldom needed.
  const { default: PDFDocument } = await import('pdfkit');
  const { title, number, seller, facts, lines, total } = receiptText(receipt);
  const document = new PDFDocument({
    size: 'A4',
    margin: marginPt,
    info: {
      Title: printable(`${title} ${number}`),
      Author: printable(seller[0] ?? ''),
      CreationDate: new Date(receipt.issued_at),
    },
  });
  const bytes: Buffer[] = [];
  const ended = new Promise<Buffer>((resolve, reject) => {
    document.on('data', (piece: Buffer) => bytes.push(piece));
    document.on('end', () => resolve(Buffer.concat(bytes)));
    document.on('error', reject);
  });
  const widthPt = document.page.width - 2 * marginPt;
  const row = ([label, value]: readonly [string, string], align: 'left' | 'right'): void => {
    const y = document.y;
    document.text(printable(label), marginPt, y, { width: labelPt });
    const afterLabel = document.y;
    document.text(printable(value), marginPt + labelPt, y, { width: widthPt - labelPt, align });
    document.y = Math.max(document.y, afterLabel) + 4;
  };
  const rule = (): void => {
    const y = document.y;
    document
      .moveTo(marginPt, y)
      .lineTo(marginPt + widthPt, y)
      .stroke();
    document.y = y + 8;
  };

  document.font('Helvetica').fontSize(10);
  for (const line of seller) document.text(printable(line), marginPt, document.y, { width: widthPt, align: 'right' });
  document.moveDown(2).font('Helvetica-Bold').fontSize(20).text(title, marginPt).moveDown();
  document.font('Helvetica').fontSize(10);
  for (const fact of facts) row(fact, 'left');
  document.moveDown(2);
  for (const line of lines) {
    rule();
    row(line, 'right');
  }
  rule();
  document.font('Helvetica-Bold');
  row(total, 'right');
  document.end();
  return ended;
}

/**
 * Replaces characters other than Western European ones: the fonts built into every PDF reader lack them. The HTML page
 * shows them.
 */
const printable = (text: string): string =>
  text.normalize('NFC').replace(/[^\n\x20-\x7e\u00a0-\u00ff\u20ac\u2013\u2014\u2018\u2019\u201c\u201d\u2026]/gu, '?');
