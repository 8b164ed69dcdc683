import { inflateSync } from 'node:zlib';
import type { ReceiptAnswer } from '@sotto/contract/control/orders';
import { describe, expect, it } from 'vitest';
import { paymentReceiptPage, paymentReceiptPdf } from './send-payment-receipt.ts';

const receipt: ReceiptAnswer = {
  number: '2026-000042',
  kind: 'receipt',
  corrects: null,
  issued_at: '2026-11-21T10:11:12.345Z',
  order_id: '0b5cbe5e-13f2-4c3c-8f0f-9d1f2b1f6a01',
  rail: 'card',
  currency: 'USD',
  amount: 25,
  fee: 1.25,
  total: 26.25,
  account: {
    ...{ id: '7d0de2b5-4bb7-4a70-8a3c-1f2f30c0a111', name: 'Zoë', email: 'zoe@example.com' },
    details: 'Zoë GmbH\n2 Weg\nDE 123',
  },
  seller: { name: 'Acme & Sons', address: '1 Street\n12345 Town', tax_id: 'X1' },
};

/** Extracts the visible text of a PDF from its content streams. */
function textOf(pdf: Buffer): string {
  const streams = pdf.toString('latin1').matchAll(/stream\n(.*?)\nendstream/gs);
  const contents = [...streams].map(([, bytes = '']) => {
    try {
      return inflateSync(Buffer.from(bytes, 'latin1')).toString('latin1');
    } catch {
      return '';
    }
  });
  return [...contents.join('\n').matchAll(/\[(.*?)\] TJ/g)]
    .map(([, pieces = '']) =>
      [...pieces.matchAll(/<([0-9a-f]*)>/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1')).join(''),
    )
    .join('\n');
}

const shown = [
  '2026-000042',
  '2026-11-21 10:11 UTC',
  'Zoë',
  'zoe@example.com',
  'Card',
  '1 Street',
  '12345 Town',
  'X1',
  'DE 123',
];
const sums = ['USD 25.00', 'USD 1.25', 'USD 26.25', receipt.order_id, receipt.account.id];

describe('a receipt', () => {
  it('shows everything on its page', () => {
    const page = paymentReceiptPage(receipt);
    for (const text of [...shown, ...sums, 'Acme &amp; Sons', 'Receipt']) expect(page).toContain(text);
    expect(page).toContain('Zoë GmbH<br>2 Weg<br>DE 123');
    expect(page).not.toContain('<script');
    expect(page).toContain('@media print');
  });

  it('escapes what people and operators wrote', () => {
    const nasty = '<img src=x onerror="alert(1)">\'&';
    const page = paymentReceiptPage({
      ...receipt,
      account: { ...receipt.account, name: nasty, email: nasty.toUpperCase(), details: `${nasty}\n${nasty}` },
      seller: { name: nasty, address: nasty, tax_id: nasty },
    });
    expect(page).not.toContain('<img');
    expect(page).not.toContain('<IMG');
    expect(page).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;');
  });

  it('shows everything in its PDF, and the same receipt gives the same bytes', async () => {
    const pdf = await paymentReceiptPdf(receipt);
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    const text = textOf(pdf);
    for (const part of [...shown, ...sums, 'Acme & Sons']) expect(text).toContain(part);
    expect(await paymentReceiptPdf(receipt)).toEqual(pdf);
  });

  it('can be issued to any name, however long and in any script', async () => {
    const account = { ...receipt.account, name: '漢字 '.repeat(300), email: null };
    expect((await paymentReceiptPdf({ ...receipt, account })).subarray(0, 5).toString()).toBe('%PDF-');
    expect(paymentReceiptPage({ ...receipt, account })).toContain('漢字');
  });

  it('names the corrected receipt if it is a credit note', async () => {
    const note: ReceiptAnswer = { ...receipt, kind: 'credit_note', corrects: '2026-000041', amount: 4.761904761 };
    expect(paymentReceiptPage(note)).toMatch(/Credit note.*2026-000041.*USD 4\.761904761/s);
    expect(textOf(await paymentReceiptPdf(note))).toContain('2026-000041');
  });
});
