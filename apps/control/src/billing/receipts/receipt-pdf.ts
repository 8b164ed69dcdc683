import type { ReceiptAnswer } from '@sotto/wire';
import PDFDocument from 'pdfkit';
import { receiptText } from './receipt-text.ts';

const marginPt = 56;
const labelPt = 130;

/** A receipt as a PDF of one page. The same receipt gives the same bytes. */
export function receiptPdf(receipt: ReceiptAnswer): Promise<Buffer> {
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

/** The fonts that every PDF reader has know Western European letters only; the page has the others. */
const printable = (text: string): string =>
  text.normalize('NFC').replace(/[^\x20-\x7e\u00a0-\u00ff\u20ac\u2013\u2014\u2018\u2019\u201c\u201d\u2026]/gu, '?');
