import { addressOf } from '../../api/call.ts';
import { buttonClass } from '../../ui/button.tsx';

/** A receipt as a page to print, and as a PDF. */
export function ReceiptLinks({ number }: { number: string }) {
  const address = (format: 'html' | 'pdf'): string =>
    addressOf('GET /v1/billing/receipts/{receiptNumber}', { params: { receiptNumber: number }, query: { format } });
  return (
    <span className="inline-flex gap-1">
      <a href={address('html')} target="_blank" rel="noreferrer" className={buttonClass('quiet', true)}>
        View<span className="sr-only"> receipt {number} in a new tab</span>
      </a>
      <a href={address('pdf')} download className={buttonClass('quiet', true)}>
        PDF<span className="sr-only"> of receipt {number}</span>
      </a>
    </span>
  );
}
