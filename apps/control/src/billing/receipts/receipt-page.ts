import type { ReceiptAnswer } from '@sotto/wire';
import { receiptText } from './receipt-text.ts';

/** What the page may do: show itself, with its own style. */
export const receiptPagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** A receipt as a page to read and to print: one file, no script, everything from outside escaped. */
export function receiptPage(receipt: ReceiptAnswer): string {
  const { title, number, seller, facts, lines, total } = receiptText(receipt);
  const row = ([label, value]: readonly [string, string]): string =>
    `<tr><th scope="row">${escaped(label)}</th><td>${escaped(value)}</td></tr>`;
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
